"""Oracle of the diagonal sparse matrix-vector product (DIA SpMV), and the counts and layouts that go with it.

Diagonal k has offset ``o_k = column - row``. Two index conventions are in use:

* column-indexed (SciPy ``dia_array``): ``data[k, j] = A[j - o_k, j]``, ``data.shape[1]`` may be shorter or longer than
  the number of columns (a shorter row ends in zeros that are not stored);
* row-indexed (Catanzaro's article, MKL, CUSP; the device layout): ``val[k, i] = A[i, i + o_k]``, one entry a row.

SciPy's arrays of A with negated offsets are the row-indexed arrays of A transposed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ParameterError
from gpuopt.workloads.common import rounding

Float64Array = NDArray[np.float64]

MOST_RADIUS = 256  # 205,861 neighbours, whose diagonals fit into the memory of few devices


def dia_spmv(
    data: ArrayLike,
    offsets: ArrayLike,
    shape: tuple[int, int],
    x: ArrayLike,
    y: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Float64Array:
    """Return ``alpha A x + beta y`` in fp64, one diagonal after the other.

    ``data`` (diagonals, stored length) and ``offsets`` (diagonals,) follow SciPy's column-indexed convention, in any
    order; ``shape`` is (rows, columns); ``x`` is (columns,) or (columns, k); ``y`` and the result are (rows,) or
    (rows, k). ``y`` is not modified. Raises ``ValueError`` for shapes that do not fit, and for beta without ``y``.
    """
    data, offsets = _diagonals(data, offsets)
    rows, columns = shape
    x = np.asarray(x)
    if x.ndim not in (1, 2) or x.shape[0] != columns:
        raise ValueError(f"x has shape {x.shape}, but must be ({columns},) or ({columns}, k) for a matrix {shape}")
    product = np.zeros((rows, *x.shape[1:]))
    # Stored zeros meet Inf as in SciPy's DIA product: NaN is the right answer there, and no reason for a warning.
    with np.errstate(invalid="ignore", over="ignore"):
        for here, there, entries in _entries(data, offsets, shape):
            product[here] += _as_factor(entries, x) * x[there]
        product *= alpha
        if y is not None and beta != 0:
            y = np.asarray(y)
            if y.shape != product.shape:
                raise ValueError(f"y has shape {y.shape}, but the product has {product.shape}")
            product += beta * y.astype(np.float64)
    if y is None and beta != 0:
        raise ValueError("beta is not 0, but there is no y to add")
    return product


def dia_abs_sum(
    data: ArrayLike,
    offsets: ArrayLike,
    shape: tuple[int, int],
    x: ArrayLike,
    y: ArrayLike | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Float64Array:
    """Return ``|alpha| |A| |x| + |beta| |y|`` in fp64: the sum of magnitudes that rounding errors scale with.

    Arguments, shapes and errors as in :func:`dia_spmv`.
    """
    data, offsets = _diagonals(data, offsets)
    magnitude: np.ndarray = np.abs(np.asarray(x))
    total = np.zeros((shape[0], *magnitude.shape[1:]))
    for here, there, entries in _entries(data, offsets, shape):
        total[here] += _as_factor(np.abs(entries), magnitude) * magnitude[there]
    total *= abs(alpha)
    if y is not None:
        total += abs(beta) * np.abs(np.asarray(y, dtype=np.float64))
    return total


def tolerance(abs_sum: ArrayLike, diagonals: int, dtype: str | np.dtype[Any]) -> Float64Array:
    """Return the absolute error, element by element, that a correct product in ``dtype`` stays within.

    ``2 (D + 2) u sum|A||x|`` with D the number of diagonals and u the unit roundoff (2^-24 in fp32, 2^-53 in fp64): the
    worst case of any order of summation, with a factor 2 to spare. ``abs_sum`` comes from :func:`dia_abs_sum`.
    Raises ``ValueError`` for a dtype other than float16, float32, float64.
    """
    return 2.0 * rounding.tolerance(abs_sum, diagonals, dtype)


def row_indexed(data: ArrayLike, offsets: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return the row-indexed (diagonals, rows) layout of SciPy's column-indexed ``data``; 0 where nothing is stored."""
    data, offsets = _diagonals(data, offsets)
    values = np.zeros((len(offsets), shape[0]), dtype=data.dtype)
    for k, offset in enumerate(offsets.tolist()):
        first, last = _stored_columns(offset, shape, data.shape[1])
        values[k, first - offset : last - offset] = data[k, first:last]
    return values


def column_indexed(values: ArrayLike, offsets: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return SciPy's column-indexed (diagonals, columns) layout of row-indexed ``values`` (diagonals, rows)."""
    values, offsets = _diagonals(values, offsets)
    if values.shape[1] != shape[0]:
        raise ValueError(f"values has {values.shape[1]} entries a diagonal, but the matrix has {shape[0]} rows")
    data = np.zeros((len(offsets), shape[1]), dtype=values.dtype)
    for k, offset in enumerate(offsets.tolist()):
        first, last = _stored_columns(offset, shape, shape[1])
        data[k, first:last] = values[k, first - offset : last - offset]
    return data


def dia_range_count(offsets: ArrayLike, shape: tuple[int, int], stored: int | None = None) -> int:
    """Return how many entries the diagonals have inside the matrix: ``sum_k max(0, min(M, N - o_k) - max(0, -o_k))``.

    ``stored`` is ``data.shape[1]`` where SciPy's data are shorter than the columns. The count holds the zeros where a
    diagonal of a grid matrix wraps round a side of the grid; :func:`neighbour_count` does not.
    """
    stored = shape[1] if stored is None else stored
    total = 0
    for offset in np.asarray(offsets).tolist():
        first, last = _stored_columns(offset, shape, stored)
        total += last - first
    return total


def neighbour_count(steps: ArrayLike, extents: Sequence[int]) -> int:
    """Return how many (point, neighbour) pairs lie inside a grid: what CSR stores of its matrix.

    ``steps`` is (neighbours, dimensions), ``extents`` the grid's size along each of these dimensions: the sum over the
    steps of ``(w - |dx|)(h - |dy|)...``.
    """
    inside = np.maximum(0, np.asarray(extents, dtype=np.int64) - np.abs(np.asarray(steps, dtype=np.int64)))
    return int(inside.prod(axis=1).sum())


def disk_steps(radius: int) -> NDArray[np.int64]:
    """Return every (dx, dy) with ``dx^2 + dy^2 <= radius^2``, ordered by (dy, dx): 81 of them for radius 5. Raises
    ParameterError for a radius below 1 or above ``MOST_RADIUS``."""
    if radius < 1:
        raise ParameterError(f"radius: {radius} reaches no neighbour; give at least 1")
    if radius > MOST_RADIUS:
        raise ParameterError(f"radius: {radius} ties a pixel to too many others; give at most {MOST_RADIUS}")
    reach = range(-radius, radius + 1)
    inside = [(dx, dy) for dy in reach for dx in reach if dx * dx + dy * dy <= radius * radius]
    return np.array(inside, dtype=np.int64)


def _entries(
    data: np.ndarray, offsets: np.ndarray, shape: tuple[int, int]
) -> Iterator[tuple[slice, slice, Float64Array]]:
    """Yield each diagonal's rows, columns and entries in fp64: one at a time, for all of them may be a gigabyte."""
    for diagonal, offset in zip(data, offsets.tolist(), strict=True):
        first, last = _stored_columns(offset, shape, len(diagonal))
        yield slice(first - offset, last - offset), slice(first, last), diagonal[first:last].astype(np.float64)


def _as_factor(entries: Float64Array, x: np.ndarray) -> Float64Array:
    return entries if x.ndim == 1 else entries[:, np.newaxis]


def _stored_columns(offset: int, shape: tuple[int, int], stored: int) -> tuple[int, int]:
    """Return the half-open range of columns where the diagonal lies in the matrix and is stored."""
    rows, columns = shape
    first = min(max(0, offset), columns)
    return first, max(first, min(columns, rows + offset, stored))


def _diagonals(data: ArrayLike, offsets: ArrayLike) -> tuple[np.ndarray, NDArray[np.int64]]:
    data, offsets = np.asarray(data), np.asarray(offsets, dtype=np.int64)
    if data.ndim != 2 or offsets.ndim != 1 or len(data) != len(offsets):
        raise ValueError(f"data {data.shape} must be (diagonals, length) and offsets {offsets.shape} (diagonals,)")
    if len(np.unique(offsets)) != len(offsets):
        raise ValueError("offsets holds a value twice")
    return data, offsets
