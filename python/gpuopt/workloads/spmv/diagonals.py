"""Diagonals of a matrix in the host's memory, as SciPy has them: what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import ParameterTypeError, as_array, unmasked, unsupported


@dataclass(frozen=True, eq=False)
class Diagonals:
    """``data`` (D, columns) with ``data[k, j] = A[j - offsets[k], j]``; ``offsets`` (D,); ``shape`` of A.

    Entries exist in the first rows and columns alone, ``extent`` of them: data may be narrower than the matrix.
    """

    data: np.ndarray
    offsets: np.ndarray
    shape: tuple[int, int]
    extent: tuple[int, int]

    def columns(self, k: int) -> slice:
        """The columns in which diagonal k has entries."""
        first = max(0, int(self.offsets[k]))
        return slice(first, max(first, min(self.extent[0] + int(self.offsets[k]), self.extent[1])))

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Data of the same layout, whose entries ``change`` makes of these. What is no entry stays zero."""
        made = np.zeros(self.data.shape, change(self.data[:0]).dtype)
        for k in range(len(self.offsets)):
            made[k, self.columns(k)] = change(self.data[k, self.columns(k)])
        return made

    def dense(self, order: str | None, out: np.ndarray | None) -> np.ndarray:
        """The matrix with all its zeros, a new array in ``order`` or ``out``. Raises ParameterError, ArrayError."""
        if order not in (None, "C", "F") or (order and out is not None):
            raise ParameterError(f"order: {order!r} is not offered; use 'C' or 'F', and leave it out beside out")
        if out is not None and (out.shape != self.shape or out.dtype != self.data.dtype):
            raise ArrayError(
                f"out: its shape is {out.shape}, its dtype {out.dtype}; give {self.shape}, {self.data.dtype}"
            )
        if out is not None and not out.flags.writeable:
            raise ArrayError("out: it is read-only; give an array that may be written")
        made = np.zeros(self.shape, self.data.dtype, "F" if order == "F" else "C") if out is None else out
        made[...] = 0
        for k, offset in enumerate(self.offsets):
            places = np.arange(self.data.shape[1])[self.columns(k)]
            made[places - offset, places] = self.data[k, places]
        return made

    def diagonal(self, offset: int) -> np.ndarray:
        """The entries of one diagonal, from the top; zeros where it is not stored, none where it misses the matrix."""
        first, last = max(0, offset), min(self.shape[0] + offset, self.shape[1])
        found = np.flatnonzero(self.offsets == offset)
        if not len(found):
            return np.zeros(max(0, last - first), self.data.dtype)
        return self.data[found[0], first:last].copy()


def extent_of(shape: tuple[int, int], width: int, indexed: str) -> tuple[int, int]:
    """How many rows and columns have entries, where data of this ``width`` are given."""
    return (shape[0], min(width, shape[1])) if indexed == "column" else (min(width, shape[0]), shape[1])


def is_narrow(matrix: Any) -> bool:
    """Whether a SciPy matrix by diagonals has columns beyond its data."""
    return _is_scipy_dia(matrix) and np.shape(matrix.data)[1:] < tuple(matrix.shape)[1:]


def entries(offsets: np.ndarray, extent: tuple[int, int]) -> int:
    """How many entries the diagonals have."""
    lengths = np.minimum(extent[0] + offsets, extent[1]) - np.maximum(offsets, 0)
    return int(np.maximum(lengths, 0).sum())


def times(name: str, factor: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A product with a real number, which decides the dtype as NumPy's rules have it. Raises ParameterError,
    UnsupportedError."""
    factor = _number(name, factor)

    def change(values: np.ndarray) -> np.ndarray:
        try:
            made: np.ndarray = np.asarray(values * factor)
        except OverflowError as error:
            raise ParameterError(f"{name}: it is too large for a float ({error}); give a smaller number") from error
        if made.dtype not in (np.float32, np.float64):
            raise unsupported(f"{name}: with it the values would be {made.dtype}; give a float or an int")
        return made

    return change


def over(name: str, divisor: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A quotient in float64, as SciPy computes it: by the reciprocal. Raises ParameterError, UnsupportedError."""
    divisor = _number(name, divisor)
    if divisor == 0:
        raise ParameterError(f"{name}: it is 0; give a number that can be divided by")
    multiplied = times(name, 1 / divisor)
    return lambda values: multiplied(values.astype(np.float64))


def knows_products(other: Any, method: str) -> bool:
    """Whether a product is for ``other`` to answer: an object with ``method`` that is no number, list or array."""
    refused = (Number, np.generic, str, bytes, bytearray, list, tuple)
    return not isinstance(other, refused) and not hasattr(other, "shape") and hasattr(type(other), method)


def _number(name: str, given: Any) -> Any:
    """``given``, which is a real number; those of NumPy keep their dtype."""
    given = unmasked(name, given)
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, complex | np.complexfloating):
        raise unsupported(f"{name}: it is complex, and matrices are real; multiply by its parts")
    if isinstance(given, np.timedelta64) or not isinstance(given, int | float | np.integer | np.floating | np.bool_):
        kind = f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise ParameterTypeError(f"{name}: it is {kind}, no number; a product with an array is M @ x")
    return given


def _is_scipy_dia(matrix: object) -> bool:
    return getattr(matrix, "format", None) == "dia" and hasattr(matrix, "offsets")


def refuse_other(name: str, matrix: object) -> None:
    """Raises ArrayError for what no matrix can be made from."""
    if not _is_scipy_dia(matrix) and not (isinstance(matrix, tuple) and len(matrix) == 2):
        raise ArrayError(
            f"{name}: expected a SciPy dia_array, (data, offsets), or of a product a DiaMatrix, got "
            f"{type(matrix).__name__}; convert with scipy.sparse.dia_array(A), which is small where the entries lie on "
            "few diagonals"
        )


def parts_of(
    matrix: Any, shape: tuple[int, int] | None, indexed: str
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """The data, offsets and shape of what a matrix is made from. Raises ArrayError, and ParameterError, also where
    ``shape`` or ``indexed`` is not what a SciPy matrix has."""
    if _is_scipy_dia(matrix):
        given, shape = shape, matrix.shape
        if given is not None and tuple(given) != tuple(shape):
            wrong, own = (f"({one[0]}, {one[1]})" for one in (given, shape))
            raise ArrayError(
                f"shape: it is {wrong}, the matrix's own is {own}; leave it out, or give (A.data, A.offsets) with it"
            )
        if indexed == "row":
            raise ParameterError("indexed: a SciPy matrix is indexed by column; give (A.data, A.offsets) and its shape")
        data, offsets = matrix.data, matrix.offsets
    else:
        refuse_other("matrix", matrix)
        data, offsets = matrix
    if shape is None:
        raise ArrayError("shape: it is needed with (data, offsets); give (rows, columns)")
    values = as_array("data", data, "a row for each diagonal, (diagonals, columns)")
    return values, _whole(offsets), (int(shape[0]), int(shape[1]))


def _whole(given: Any) -> np.ndarray:
    """Offsets of any integer dtype as int32 or int64, which the core takes. Raises ArrayError for other numbers."""
    offsets = as_array("offsets", given, "a whole number for each diagonal")
    if offsets.dtype.kind not in "iu" and offsets.size:
        raise ArrayError(f"offsets: their dtype is {offsets.dtype}; use whole numbers, e.g. offsets.astype(np.int64)")
    if offsets.dtype.kind == "u" and offsets.size and offsets.max() >= 2**63:
        raise ArrayError(f"offsets: one is {offsets.max()}; give numbers of diagonals that the matrix has")
    return offsets if offsets.dtype == np.int32 else offsets.astype(np.int64, copy=False)
