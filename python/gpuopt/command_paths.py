"""Paths that commands write to: what cannot be written is refused before anything is computed."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from gpuopt import files
from gpuopt._core import Error
from gpuopt.command_errors import Failure
from gpuopt.signals import is_file, let_through


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
    """A file to write; its folder is there, or is made with ``make_folder``. Rows of a study are replaced only with
    ``over_rows``."""

    def __init__(self, make_folder: bool = False, over_rows: bool = False) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.make_folder, self.over_rows = make_folder, over_rows

    def check(self, path: Path) -> None:
        """As the base says."""
        files.check_file(path, self.make_folder, self.over_rows)


class OutFolder(_Writable):
    """A folder to write files in, which is made where it is missing."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def check(self, path: Path) -> None:
        """As the base says."""
        files.check_folder(path)


_GIVEN = "gpuopt.command_paths.given"  # in a context of click: paths as they were given, by whole ones


def whole(base: Path, path: Path) -> Path:
    """The path as a whole one, which ``shown`` shows as it was given; relative ones start at ``base``."""
    click.get_current_context().meta.setdefault(_GIVEN, {})[base / path] = path
    return base / path


def shown(path: Path) -> Path:
    """A path for a message: as it, or a folder that it lies in, was given."""
    context = click.get_current_context(silent=True)
    given = context.meta.get(_GIVEN, {}) if context is not None else {}
    return next((given[one] / path.relative_to(one) for one in (path, *path.parents) if one in given), path)


def refuse_read(option: str, path: Path, read: Iterable[str | Path]) -> None:
    """Raises Failure where ``path`` is a file that is ``read``, by whatever name or link."""
    if identity(path) in {identity(one) for one in read if is_file(one)}:
        raise Failure(f"{option}: {shown(path)} is what is studied; name another file")


def refuse_replacing(read: Iterable[str | Path], written: Iterable[Path]) -> None:
    """Raises Failure where a file that is ``read`` would be ``written``, by whatever name or link."""
    taken = {identity(path): shown(path) for path in written}
    for one in read:
        if is_file(one) and (path := taken.get(identity(one))) is not None:
            raise Failure(f"{shown(Path(one))}: it is read, and {path} is written; give another --out")


def check_outputs(
    rows: Path,
    csv: Path | None,
    json: Path | None,
    read: Iterable[str | Path] = (),
    drawn: Sequence[str] = (),
) -> None:
    """Raises Failure where a study would write a file twice, over a file that is ``read``, or to where earlier rows are
    set aside; and where the folder of a table is missing, unless it is that of the rows, which is made. ``drawn`` are
    patterns of the names of what is drawn beside the rows."""
    folder = Path(os.path.realpath(rows.parent))
    read = [one for one in read if is_file(one)]
    taken = {identity(path): path for path in (*matching(rows.parent, drawn), rows)}
    refuse_replacing(read, taken.values())
    goes = {same: f"where {'the rows go' if path == rows else 'the study draws'}, too" for same, path in taken.items()}
    aside = f"{rows.stem}-[0-9]*{rows.suffix}"
    made = {"where the study draws, too": drawn, "where earlier rows are set aside": [aside]}
    for option, path in (("--csv", csv), ("--json", json)):
        if path is None:
            continue
        refuse_read(option, path, read)
        end = Path(os.path.realpath(path))
        for where, patterns in made.items():
            if end.parent == folder and _is_of(end.name, patterns):
                goes.setdefault(identity(path), where)
        own = f"where {option} goes, too"
        if (other := goes.setdefault(identity(path), own)) != own:
            raise Failure(f"{option}: {shown(path)} is {other}; name another file")
        if not path.parent.is_dir() and end.parent != folder:
            raise Failure(f"{option}: there is no folder {shown(path).parent}; make it")


def _is_of(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """What is in a folder, which may be missing, with a name of these patterns."""
    try:
        return [folder / name for name in sorted(os.listdir(folder)) if _is_of(name, patterns)]
    except OSError as error:
        let_through(error)
        return []


def identity(path: str | Path) -> object:
    """The same for all names of a file."""
    try:
        there = os.stat(path)
    except OSError as error:  # it is made later
        let_through(error)
        return os.path.realpath(path)
    return there.st_dev, there.st_ino
