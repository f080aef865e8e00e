"""What the writers share: numbers as text, and potentials that fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuopt._core import ArrayError
from gpuopt.molecule import Surface

_ROWS_AT_ONCE = 8192


def formatted(table: np.ndarray, row: str) -> Iterator[bytes]:
    """The rows of ``table`` (n, width) by the %-format ``row``, a few thousand at once."""
    for start in range(0, len(table), _ROWS_AT_ONCE):
        rows = table[start : start + _ROWS_AT_ONCE]
        yield (row * len(rows) % tuple(rows.ravel().tolist())).encode("ascii")


def number_of(dtype: np.dtype[Any]) -> str:
    """The %-format by which numbers of ``dtype`` are read back as they were."""
    return "%.9g" if dtype in (np.float16, np.float32) else "%.17g"


def stated_normals(surface: Surface) -> np.ndarray | None:
    """The normals (M, 3) as files have them, of length zero where one is not known; None where there are none."""
    return None if surface.normals is None else np.nan_to_num(surface.normals)


def potentials(phi: Any, count: int, name: str = "phi", grid: tuple[int, ...] | None = None) -> np.ndarray:
    """``phi`` flat and in float64. Raises ArrayError unless it holds finite numbers, in the shape (count,) or that
    of the ``grid``."""
    values = np.asarray(phi)
    if values.dtype.kind not in "fiu" or values.shape not in ((count,), grid):
        shapes = f"shape {(count,)}" + (f" or {grid}" if grid else "")
        raise ArrayError(f"{name}: it is {values.dtype} {values.shape}; give {count} real numbers of {shapes}")
    with np.errstate(over="ignore"):  # of more digits than float64; told below
        values = values.astype(np.float64).ravel()
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ArrayError(f"{name}: number {wrong[0]} is NaN or infinity; look for a point that lies on an atom")
    return values
