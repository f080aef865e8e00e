"""Arrays on devices, arithmetic on them, and the type of array that operations take: NumPy's or a DeviceArray."""

from __future__ import annotations

import math
import numbers
from typing import Any, NoReturn, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import DTypeLike

from gpuopt import _core
from gpuopt._core import ArrayError, DeviceArray, ParameterError
from gpuopt.annotations import is_real
from gpuopt.checked import ArrayIndexError, ArrayTypeError, ParameterTypeError, checked
from gpuopt.selection import Selector, select
from gpuopt.signals import let_through

Array = TypeVar("Array", np.ndarray, DeviceArray)


@checked
def to_device(a: np.ndarray, device: Selector = None) -> DeviceArray:
    """Copy a C-contiguous NumPy array of numbers, of any real dtype and shape, to a device; see :func:`gpuopt.use` for
    ``device``.

    Raises ArrayError (layout, or a dtype that no OpenCL type has, such as bool), UnsupportedError (complex numbers),
    DeviceMemoryError, NoDeviceError, ParameterError (no such device).

    Examples
    --------
    >>> d = gpuopt.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> d.shape, d.nbytes
    ((2, 3), 24)
    >>> d[1].to_numpy()
    array([3., 4., 5.], dtype=float32)
    """
    return _core.to_device(a, select(device))


@checked
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32, device: Selector = None) -> np.ndarray:
    """Return a NumPy array of undefined values in memory that the device reads and writes directly.

    Copies between it and the device need no copy on the host. Making one takes longer than such a copy, so it is of use
    for arrays that are used more than once. On a CPU device, which works in any memory, it is an array on large pages.

    Parameters
    ----------
    shape
        Lengths, at least 0; a whole number stands for one.
    dtype
        A real dtype of NumPy's.
    device
        The device that it is for; see :func:`gpuopt.use`.

    Raises
    ------
    ArrayError, UnsupportedError
        For a shape that NumPy does not have, and for a dtype without an OpenCL type; for complex numbers.
    DeviceMemoryError, OpenCLError, NoDeviceError, ParameterError
        ParameterError where no device fits, and for what is no dtype of numbers.

    Examples
    --------
    >>> a = gpuopt.pinned_empty((2, 3), np.float32)
    >>> a[:] = 1
    >>> gpuopt.to_device(a).to_numpy()
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """
    lengths, kind = (shape,) if isinstance(shape, int) else tuple(shape), np.dtype(dtype)
    if len(lengths) > _MOST_AXES:
        raise ArrayError(f"shape: NumPy has no such array ({len(lengths)} axes); give fewer and shorter lengths")
    if not kind.isnative:
        raise ArrayError(f"dtype: the byte order of {kind.str} is not the machine's; give {kind.newbyteorder('=')}")
    if kind.kind == "b" or (kind.kind == "f" and kind.itemsize > 8):
        raise ArrayError(f"dtype: {kind} has no OpenCL type; give whole or real numbers, e.g. np.uint8 or np.float64")
    chosen = select(device)
    try:
        return _core.pinned_empty(lengths, kind, chosen)
    except ValueError as error:
        raise ArrayError(f"shape: NumPy has no such array ({error}); give fewer and shorter lengths") from error


def factor(name: str, given: float, dtype: str | np.dtype[Any]) -> float:
    """``given`` as a float, the factor of arrays of ``dtype``. Raises ParameterError for a finite number that would be
    infinite there."""
    try:
        value = float(given)
    except OverflowError as error:
        raise ParameterError(f"{name}: {_TOO_LARGE}") from error
    if math.isinf(value) and np.isfinite(cast(Any, given)):  # of a longer float
        raise ParameterError(f"{name}: {_TOO_LARGE}")
    if abs(value) > _LARGEST and math.isfinite(value) and str(dtype) == "float32":
        raise ParameterError(
            f"{name}: it is {value:g}, float32 ends at {_LARGEST:.4g}; scale the arrays instead, or give float64 arrays"
        )
    return value


_TOO_LARGE = "it is more than a float64 holds; scale the arrays instead"
_MOST_AXES = 64  # of NumPy's arrays
_LARGEST = float(np.finfo(np.float32).max)


# ---------------------------------------------------------------- arithmetic where arrays lie


@checked
def axpy(a: float, x: DeviceArray, y: DeviceArray, out: DeviceArray | None = None) -> DeviceArray:
    """Return a x + y of arrays on one device, with one rounding once ``a`` is a number of their dtype.

    a: a number. x, y: float32 or float64, of one dtype and shape. out: where the result goes, which may be x or y; by
    default a new array.

    Raises ArrayError (dtype, shape, device), ParameterError (a number beyond float32), UnsupportedError (a device
    without float64).

    Examples
    --------
    >>> d = gpuopt.to_device(np.ones(3, np.float32))
    >>> gpuopt.axpy(2.0, d, d).to_numpy()
    array([3., 3., 3.], dtype=float32)
    """
    return _core.combine(factor("a", a, x.dtype), x, 1.0, y, out)


@checked
def dot(x: DeviceArray, y: DeviceArray) -> float:
    """Return the sum of x y of arrays on one device; it waits for the device.

    x, y: float32 or float64, of one dtype and shape. Sums are of fp64 where the device has it, else of pairs of
    float32. Raises ArrayError (dtype, shape, device), UnsupportedError (a device without float64).

    Examples
    --------
    >>> d = gpuopt.to_device(np.ones(3, np.float32))
    >>> gpuopt.dot(d, d)
    3.0
    """
    return _core.dot(x, y)


@checked
def norm(x: DeviceArray) -> float:
    """Return the Euclidean norm of all elements of a float32 or float64 array; it waits for the device.

    Squares are summed as in :func:`dot`; one beyond the largest number of the sums makes the norm infinite, and one
    below the smallest counts as 0.
    Raises ArrayError (dtype), UnsupportedError (a device without float64).

    Examples
    --------
    >>> gpuopt.norm(gpuopt.to_device(np.array([3.0, 4.0], np.float32)))
    5.0
    """
    return math.sqrt(_core.dot(x, x))


class Transposed:
    """The transpose of a matrix on a device, ``A.T``, for products: ``A.T @ v``, ``A.T @ B``, ``A @ B.T``. Nothing is
    copied; ``T`` is the matrix again."""

    __slots__ = ("T",)
    __array_ufunc__ = None  # NumPy's functions would copy it to the host
    T: DeviceArray

    def __init__(self, matrix: DeviceArray) -> None:
        object.__setattr__(self, "T", matrix)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a transpose is of one matrix; take `.T` of another")

    def __reduce__(self) -> tuple[Any, ...]:
        return Transposed, (self.T,)

    @property
    def shape(self) -> tuple[int, int]:
        """(columns, rows) of the matrix."""
        rows, columns = self.T.shape
        return columns, rows

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of its elements."""
        return self.T.dtype

    @property
    def device(self) -> _core.Device:
        """Where it lies."""
        return self.T.device

    def to_numpy(self) -> np.ndarray:
        """A new NumPy array, whose columns are contiguous."""
        return self.T.to_numpy().T

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A copy for NumPy."""
        return self.T.__array__(dtype, copy).T

    def __matmul__(self, other: Any) -> DeviceArray:
        import gpuopt

        if isinstance(other, Transposed):
            return gpuopt.gemm(self.T, other.T, transpose_a=True, transpose_b=True)
        if isinstance(other, DeviceArray) and other.ndim == 1:
            return gpuopt.tmv(self.T, other)
        if isinstance(other, DeviceArray):
            return gpuopt.gemm(self.T, other, transpose_a=True)
        return _refused(other)

    def __rmatmul__(self, other: Any) -> DeviceArray:
        import gpuopt

        if isinstance(other, DeviceArray):
            return gpuopt.gemm(other, self.T, transpose_b=True)
        return _refused(other)

    def __repr__(self) -> str:
        return f"{self.T!r}.T"


# DeviceArray's operators, which the core calls by these names.


def transposed(array: DeviceArray) -> Transposed | DeviceArray:
    """``array.T``. Raises ArrayError for more than two dimensions."""
    if array.ndim < 2:
        return array
    if array.ndim > 2:
        raise ArrayError(f"T: its shape is {array.shape}; only matrices are transposed")
    return Transposed(array)


_Operand: TypeAlias = Any  # what stands on the other side of an operator


@checked
def added(array: DeviceArray, other: _Operand) -> DeviceArray:
    """``array + other``."""
    return _combined(1.0, array, 1.0, other)


@checked
def subtracted(array: DeviceArray, other: _Operand) -> DeviceArray:
    """``array - other``."""
    return _combined(1.0, array, -1.0, other)


@checked
def subtracted_from(array: DeviceArray, other: _Operand) -> DeviceArray:
    """``other - array``."""
    return _combined(-1.0, array, 1.0, other)


def _combined(a: float, array: DeviceArray, b: float, other: _Operand) -> DeviceArray:
    if isinstance(other, DeviceArray):
        return _core.combine(a, array, b, other, None)
    if is_real(other):
        return _core.shift(a, array, b * factor("other", other, array.dtype))
    return _refused(other)


@checked
def multiplied(array: DeviceArray, other: _Operand) -> DeviceArray:
    """``array * other``, element by element."""
    if isinstance(other, DeviceArray):
        return _core.multiply(array, other)
    if is_real(other):
        return _core.shift(factor("other", other, array.dtype), array, -0.0)  # keeps the sign of zeros
    return _refused(other)


def negative(array: DeviceArray) -> DeviceArray:
    """``-array``."""
    return _core.shift(-1.0, array, -0.0)


def equal(array: DeviceArray, other: object) -> bool:
    """``array == other``, False for what is no array and no number. Raises ArrayError for these: an answer for each
    element, as NumPy gives, would be an array, and one for both arrays is NumPy's ``array_equal``."""
    if isinstance(other, (DeviceArray, np.ndarray)) or is_real(other):
        raise ArrayError("other: arrays on a device are not compared; use np.array_equal(a, b), or a.to_numpy() == b")
    return NotImplemented


def truth(array: DeviceArray) -> bool:
    """``bool(array)``. Raises ArrayError."""
    raise ArrayError("self: whether an array is true is ambiguous; use len(a), or a.to_numpy().any() or .all()")


def _refused(other: object) -> DeviceArray:
    if isinstance(other, np.ndarray):
        raise ArrayError("other: it is a NumPy array, and nothing is copied unseen; use gpuopt.to_device(other)")
    return NotImplemented


_HOST = (1, 0)  # DLPack's number of the memory in which copies for other libraries lie


@checked
def capsule(array: DeviceArray, stream: _Operand, max_version: _Operand, dl_device: _Operand, copy: _Operand) -> Any:
    """``array.__dlpack__``: a capsule of a copy on the host, by the standard of array APIs.

    Raises BufferError for another device, for a stream, which the host has none of, and for ``copy=False``;
    ParameterError for arguments of types that the standard does not name.
    """
    version, where = (_pair(name, given) for name, given in (("max_version", max_version), ("dl_device", dl_device)))
    if not (stream is None or (is_real(stream) and isinstance(stream, numbers.Integral))):
        raise ParameterTypeError(f"stream: it is a {type(stream).__name__}; leave it out, for the copy is on the host")
    if not (copy is None or isinstance(copy, (bool, np.bool_))):
        raise ParameterTypeError(f"copy: it is a {type(copy).__name__}; give True or None")
    if stream is not None:
        raise BufferError(f"stream: it is {stream}, and the copy lies on the host, which has none; leave it out")
    if where not in (None, _HOST):
        raise BufferError(f"dl_device: it is {where}, and copies lie on the host; give {_HOST}, or leave it out")
    if copy is not None and not copy:
        raise BufferError(
            "copy: a DeviceArray lies in a device's memory, so that another library gets a copy; leave copy=False out"
        )
    versions: dict[str, Any] = {}
    if version is not None and np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        versions["max_version"] = tuple(map(_within_int, version))
    return array.to_numpy().__dlpack__(**versions)


def _within_int(number: int) -> int:
    """The nearest number that C's int holds: versions of DLPack, of which later ones than NumPy's own mean that one."""
    return max(-(2**31), min(number, 2**31 - 1))


def _pair(name: str, given: _Operand) -> tuple[int, int] | None:
    if given is None:
        return None
    if not (isinstance(given, tuple) and len(given) == 2 and all(isinstance(one, numbers.Integral) for one in given)):
        raise ParameterTypeError(f"{name}: it is {ascii(given)[:60]}; give two whole numbers, or leave it out")
    return int(given[0]), int(given[1])


def rows(array: DeviceArray, index: _Operand) -> DeviceArray:
    """``array[index]``: a copy of the row of a whole number, or of the rows of a slice without a step.

    Raises ArrayIndexError for a row that is not there, ArrayError for any other index.
    """
    if array.ndim == 0:
        raise ArrayIndexError("index: an array without dimensions has no rows; use a.to_numpy()")
    length = array.shape[0]
    if isinstance(index, slice):
        try:
            first, end, step = index.indices(length)
        except Exception as error:  # an object's own __index__ may raise anything
            let_through(error)
            raise ArrayTypeError(f"index: it is no slice of whole rows ({error}); give one such as a[2:5]") from error
        if step != 1:
            raise ArrayError(f"index: rows of a DeviceArray follow one another, and its step is {step}; leave it out")
        return _core.rows(array, first, max(0, end - first), True)
    if is_real(index) and isinstance(index, numbers.Integral):
        place = int(index)
        if not -length <= place < length:
            told = place if place.bit_length() < 64 else f"of {place.bit_length()} bits"
            of = f"{length}; the last is {length - 1}" if length else "none; the array's first length is 0"
            raise ArrayIndexError(f"index: row {told} of {of}")
        return _core.rows(array, place % length, 1, False)
    raise ArrayError(
        f"index: a DeviceArray is indexed by whole rows, a[3] or a[2:5], not by {type(index).__name__}; use "
        "a.to_numpy() for single elements"
    )
