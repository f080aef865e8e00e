"""Paths that commands write to: what cannot be written is refused before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gpuopt import files
from gpuopt._core import Error
from gpuopt.command_errors import Failure


class _Writable(click.Path):
    """A path that is named and can be written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not os.fspath(value):
            self.fail(f"it is empty; name a {self.name}", param, ctx)
        try:
            self.check(path)
        except Error as error:
            self.fail(str(error), param, ctx)
        return path

    def check(self, path: Path) -> None:
        """Raises Error where it cannot be written."""
        raise NotImplementedError


class OutFile(_Writable):
    """A file to write; its folder is there, or is made with ``make_folder``."""

    def __init__(self, make_folder: bool = False) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.make_folder = make_folder

    def check(self, path: Path) -> None:
        """As the base says."""
        files.check_file(path, self.make_folder)


class OutFolder(_Writable):
    """A folder to write files in, which is made where it is missing."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def check(self, path: Path) -> None:
        """As the base says."""
        files.check_folder(path)


def refuse_read(option: str, path: Path, read: Iterable[str | Path]) -> None:
    """Raises Failure where ``path`` is a file that is ``read``, by whatever name or link."""
    if identity(path) in {identity(one) for one in read if os.path.isfile(one)}:
        raise Failure(f"{option}: {path} is what is studied; name another file")


def check_tables(rows: Path, csv: Path | None, json: Path | None, read: Iterable[str | Path] = ()) -> None:
    """Raises Failure where a table would be written over the rows, over the other table, or over a file that is
    ``read``, and where its folder is missing, unless it is that of the rows, which is made."""
    taken = {identity(rows): "where the rows go, too"}
    for option, path in (("--csv", csv), ("--json", json)):
        if path is None:
            continue
        refuse_read(option, path, read)
        own = f"where {option} goes, too"
        if (other := taken.setdefault(identity(path), own)) != own:
            raise Failure(f"{option}: {path} is {other}; name another file")
        if not path.parent.is_dir() and os.path.realpath(path.parent) != os.path.realpath(rows.parent):
            raise Failure(f"{option}: there is no folder {path.parent}; make it")


def identity(path: str | Path) -> object:
    """The same for all names of a file."""
    try:
        there = os.stat(path)
    except OSError:  # it is made later
        return os.path.realpath(path)
    return there.st_dev, there.st_ino
