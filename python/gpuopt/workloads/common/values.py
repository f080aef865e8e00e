"""What problems are filled with, and the dtypes they come in."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt._core import ParameterError


def uniform(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return values in [-1, 1), made in ``dtype`` itself."""
    values = random.random(shape, dtype=dtype)
    values *= 2
    values -= 1
    return values


def real_dtype(dtype: str | np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 or float64. Raises ParameterError for another."""
    kind = np.dtype(dtype)
    if kind.name not in ("float32", "float64"):
        raise ParameterError(f"dtype: {kind.name} is not offered; use float32 or float64")
    return kind
