"""Where a scan's counts come from: what each kind of file says before it is read, and rows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt import host_memory
from gpuopt._core import Error, ParameterError
from gpuopt.io.text import FormatError, opened
from gpuopt.signals import let_through
from gpuopt.tomo.checks import Float64Array

COUNTED = "uif"  # kinds of dtypes that detectors count in


class Source(ABC):
    """A file, or a folder of files, of a scan. The constructor reads headers alone. Everything raises FormatError,
    and FileNotFoundError or PermissionError where the file cannot be opened."""

    path: Path
    shape: tuple[int, int, int]
    """(views, rows, columns)"""
    dtype: np.dtype[Any]

    @property
    def angles(self) -> Float64Array | None:
        """In radians; None where the file does not say. Read when they are asked for."""
        return None

    def settle(self) -> None:
        """From now on it is read where it lies, whatever the working folder is then."""
        self.path = self.path.absolute()

    @abstractmethod
    def counts(self, rows: slice) -> np.ndarray:
        """Some detector rows of all views (view, v, u)."""

    def level(self, name: str, rows: slice) -> Float64Array | None:
        """The mean of the fields ``name``, "white" or "dark" (v, u), that the file has beside the views; None without
        any."""
        return None


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Whatever a library raises in the block, of a file that is damaged or no regular file, becomes a FormatError."""
    with opened(path):  # refuses what is no regular file
        pass
    try:
        yield
    except (Error, MemoryError):
        raise
    except Exception as error:  # what a broken file raises in a decoder is anybody's guess
        let_through(error)
        raise FormatError(
            path, None, f"it cannot be read as {form} ({type(error).__name__}: {str(error)[:200]}); write it again"
        ) from error


def mean_of(fields: np.ndarray) -> Float64Array:
    """The mean over the fields (field, v, u), summed in fp64."""
    return np.asarray(fields.mean(axis=0, dtype=np.float64))


def check_memory(path: Path, what: str, wanted: int) -> None:
    """Raises ParameterError where ``wanted`` bytes are more than half of what is free."""
    free = host_memory.free_bytes()
    if free is not None and wanted > free // 2:
        raise ParameterError(
            f"rows: {what} of {path} take {wanted / 1e6:,.0f} MB, where {free / 2e6:,.0f} MB, half of the free memory, "
            "may be taken; give fewer rows"
        )
