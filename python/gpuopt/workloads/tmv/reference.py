"""Oracle of the transposed matrix-vector product, y = A^T v."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64Array = NDArray[np.float64]

BLOCK = 1 << 22  # elements of A held in fp64 at once


def tmv(A: ArrayLike, v: ArrayLike) -> Float64Array:
    """Return ``A^T v`` in fp64 for A (m, n) and v (m,). Raises ``ValueError`` for shapes that do not fit."""
    A, v = _fitting(A, v)
    total = np.zeros(A.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        for rows in _blocks(A.shape):
            total += v[rows].astype(np.float64) @ A[rows].astype(np.float64)
    return total


def abs_sum(A: ArrayLike, v: ArrayLike) -> Float64Array:
    """Return ``|A|^T |v|`` in fp64: what rounding errors scale with. Arguments and errors as in :func:`tmv`."""
    A, v = _fitting(A, v)
    total = np.zeros(A.shape[1])
    for rows in _blocks(A.shape):
        total += np.abs(v[rows].astype(np.float64)) @ np.abs(A[rows].astype(np.float64))
    return total


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    step = max(1, BLOCK // max(shape[1], 1))
    return (slice(first, first + step) for first in range(0, shape[0], step))


def _fitting(A: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    A, v = np.asarray(A), np.asarray(v)
    if A.ndim != 2 or v.shape != A.shape[:1]:
        raise ValueError(f"A {A.shape} must be (m, n) and v {v.shape} (m,)")
    return A, v
