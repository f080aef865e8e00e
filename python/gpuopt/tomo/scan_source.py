"""Where a scan's counts come from: what each kind of file says before it is read, and rows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt import host_memory
from gpuopt._core import ParameterError
from gpuopt.tomo.checks import Float64Array

NUMERIC = "uif"  # kinds of dtypes that detectors count in


class Source(ABC):
    """A file, or a folder of files, of a scan. The constructor reads headers alone. Everything raises FormatError."""

    path: Path
    shape: tuple[int, int, int]
    """(views, rows, columns)"""
    dtype: np.dtype[Any]
    angles: Float64Array | None = None
    """In radians; None where the file does not say."""

    @abstractmethod
    def counts(self, rows: slice) -> np.ndarray:
        """Some detector rows of all views (view, v, u)."""

    def level(self, name: str, rows: slice) -> Float64Array | None:
        """The mean of the fields ``name``, "white" or "dark" (v, u), that the file has beside the views; None without
        any."""
        return None


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
