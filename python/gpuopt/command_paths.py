"""Paths that commands write to: what cannot be written is refused before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from gpuopt import files
from gpuopt._core import Error


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
