"""What SciPy computes of a DiaMatrix in the host's memory, under the names of ``scipy.sparse.dia_array``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Error, ParameterError
from gpuopt.checked import HostMemoryError, ParameterTypeError, checked, unmasked, unsupported
from gpuopt.signals import let_through, of_signal

if TYPE_CHECKING:
    from scipy.sparse import bsr_array, coo_array, csc_array, csr_array, dia_array
    from scipy.sparse.linalg import LinearOperator


def is_sparse(given: object) -> bool:
    """Whether ``given`` is a DiaMatrix, or one of SciPy's sparse arrays and matrices."""
    try:
        return isinstance(given, ThroughScipy) or (hasattr(given, "format") and hasattr(given, "tocsr"))
    except Exception as error:  # an object's own attributes may raise anything
        let_through(error)
        return False


def on_host(given: Any) -> Any:
    """``given``, as a ``dia_array`` where it is a DiaMatrix."""
    return given.to_scipy() if isinstance(given, ThroughScipy) else unmasked("other", given)


def _addends(A: dia_array, other: Any) -> tuple[Any, Any]:
    """Both; where both are by diagonals, with data as wide as the matrix: SciPy 1.17 adds those of unlike widths
    wrongly, or not at all. The sum of such has the dtype that both need, that of equal widths may have the first's."""
    given = on_host(other)
    if getattr(given, "format", None) != "dia":
        return A, given
    same = A.data.shape[1] == given.data.shape[1]
    both = np.result_type(A.dtype, given.dtype)
    return _wide(A, A.dtype if same else both), _wide(given, given.dtype if same else both)


def _wide(A: Any, dtype: np.dtype[Any]) -> Any:
    from scipy.sparse import dia_array

    data = np.zeros((len(A.offsets), A.shape[1]), dtype)
    width = min(data.shape[1], A.data.shape[1])
    data[:, :width] = A.data[:, :width]
    return dia_array((data, A.offsets), shape=A.shape)


def _matrix_product(A: Any, B: Any) -> Any:
    """``A @ B``, zeros where no given entries of both meet: SciPy 1.17 ends in an error of its own in some such
    cases."""
    from scipy.sparse import dia_array

    if getattr(A, "format", None) != "dia" or getattr(B, "format", None) != "dia" or A.shape[1] != B.shape[0]:
        return A @ B
    (first, end), below = _given_columns(A), B.offsets.astype(np.int64)
    first_row, end_row = (columns - below for columns in _given_columns(B))
    meet = np.maximum.outer(first, first_row) < np.minimum.outer(end, end_row)
    return A @ B if meet.any() else dia_array((A.shape[0], B.shape[1]), dtype=np.result_type(A.dtype, B.dtype))


def _given_columns(A: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the given entries of each stored diagonal begin and end: the first column, and the one behind the last."""
    rows, columns = A.shape
    offsets = A.offsets.astype(np.int64)
    return np.maximum(offsets, 0), np.minimum(offsets + rows, min(columns, A.data.shape[1]))


class ParameterIndexError(ParameterError, IndexError):
    """An index lies outside the matrix."""


def _told(name: str, shape: tuple[int, int], error: Exception) -> Exception:
    """What to raise where SciPy refuses the argument ``name``."""
    if isinstance(error, MemoryError):
        _core.drop_kept_on_host()  # the next call may find room
        return HostMemoryError(f"{name}: the host's memory does not hold it ({error})")
    if isinstance(error, NotImplementedError):
        return unsupported(f"{name}: SciPy does not offer it ({error}); try tocsr() or toarray()")
    if isinstance(error, IndexError):
        return ParameterIndexError(f"{name}: {error}; the matrix is of shape {shape}")
    kind = ParameterTypeError if isinstance(error, TypeError) else ParameterError
    return kind(f"{name}: SciPy does not take this ({error}); give what dia_array does")


def _named(axis: Any, out: Any, dtype: Any = None) -> str:
    """Which argument SciPy refuses, as far as that is known: a dtype that it takes, and an axis, leave ``out``."""
    if not _of_numbers(dtype):
        return "dtype"
    taken = axis is None or (isinstance(axis, (int, np.integer)) and -2 <= axis <= 1)
    return "out" if out is not None and taken else "axis"


def _of_numbers(dtype: Any) -> bool:
    """Whether it is a dtype that SciPy computes in; None is the matrix's own."""
    try:
        return dtype is None or np.dtype(dtype).kind in "biufcO"
    except (TypeError, ValueError):
        return False


def _is_casting(given: Any) -> bool:
    """Whether it is one of NumPy's words."""
    try:
        return np.can_cast(np.float32, np.float32, given)
    except (TypeError, ValueError):
        return False


def _converted(matrix: ThroughScipy, x: Any) -> np.ndarray:
    """The product with x in any real or complex dtype: solvers' vectors are those of their right-hand sides."""
    if np.iscomplexobj(x):
        return _converted(matrix, x.real) + 1j * _converted(matrix, x.imag)
    made: np.ndarray = matrix @ np.ascontiguousarray(x, dtype=matrix.dtype)
    return made


@checked
class ThroughScipy:
    """Methods under SciPy's names that need SciPy. Products with vectors run on the device; the others copy the values
    to the host, where SciPy computes.

    What SciPy makes as a ``dia_array`` of float32 or float64 becomes a DiaMatrix on the same device; anything else is
    returned as it is.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, int]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def T(self) -> ThroughScipy: ...
        def __mul__(self, factor: Any) -> Any: ...
        def __matmul__(self, x: Any) -> Any: ...
        def to_scipy(self) -> dia_array: ...
        def _from_scipy(self, made: dia_array) -> ThroughScipy: ...

    def _by_scipy(self, name: str, compute: Callable[[dia_array], Any]) -> Any:
        host = self.to_scipy()
        try:
            made = compute(host)
        except (Error, ImportError, Warning):  # a warning, where the caller has made errors of them
            raise
        except Exception as error:  # objects of other packages may raise anything
            if of_signal(error) is not None or isinstance(error, RecursionError):  # neither is a fault of what is given
                raise
            raise _told(name, host.shape, error) from error
        if made is NotImplemented:
            raise ParameterTypeError(f"{name}: SciPy does not take this; give what dia_array does")
        if made is host:
            return self
        if is_sparse(made) and made.format == "dia" and made.dtype in (np.float32, np.float64):
            return self._from_scipy(made)
        return made

    def matvec(self, x: np.ndarray) -> np.ndarray:
        """Return ``M @ x`` for x (columns,) or (columns, k), converted to the matrix's dtype; complex x in two parts.
        With it SciPy's solvers take a DiaMatrix, as in ``scipy.sparse.linalg.cg(M, b)``."""
        return _converted(self, x)

    def rmatvec(self, x: np.ndarray) -> np.ndarray:
        """Return ``M.T @ x``, as :meth:`matvec` does."""
        return _converted(self.T, x)

    def linear_operator(self) -> LinearOperator:
        """Return a SciPy LinearOperator whose products (with vectors, matrices, and of the adjoint) run on the
        device."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape,
            matvec=self.matvec,
            matmat=self.matvec,
            rmatvec=self.rmatvec,
            rmatmat=self.rmatvec,
            dtype=self.dtype,
        )

    def tocsr(self) -> csr_array:
        """Return SciPy's ``csr_array``: rows one after the other."""
        return self.asformat("csr")

    def tocsc(self) -> csc_array:
        """Return SciPy's ``csc_array``: columns one after the other."""
        return self.asformat("csc")

    def tocoo(self) -> coo_array:
        """Return SciPy's ``coo_array``: entries with their places."""
        return self.asformat("coo")

    def tobsr(self, blocksize: Any = None) -> bsr_array:
        """Return SciPy's ``bsr_array``: dense blocks of ``blocksize`` (rows, columns)."""
        return self._by_scipy("blocksize", lambda A: A.tobsr(blocksize))

    def asformat(self, format: str | None) -> Any:
        """Return SciPy's sparse array of a format: "csr", "csc", "coo", "bsr", "lil" or "dok"; "dia" and None mean the
        matrix itself."""
        return self if format in (None, "dia") else self._by_scipy("format", lambda A: A.asformat(format))

    def copy(self) -> Any:
        """Return the matrix itself: it never changes."""
        return self

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        """Return the matrix in ``dtype``; SciPy's ``dia_array`` for another than float32 and float64. ``copy`` is
        SciPy's, and means nothing for what never changes. Raises ParameterError for a casting that is none."""
        if not _is_casting(casting):  # SciPy does not look at it where the dtype stays
            kind = ParameterError if isinstance(casting, str) else ParameterTypeError
            raise kind("casting: it is none of NumPy's words; give one, such as 'same_kind'")
        return self._by_scipy("dtype", lambda A: A.astype(dtype, casting=casting))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all entries, of each column (``axis`` 0) or of each row (1)."""
        return self._by_scipy(_named(axis, out, dtype), lambda A: A.sum(axis, dtype=dtype, out=out))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements, zeros included, of each column (``axis`` 0) or of each row (1)."""
        return self._by_scipy(_named(axis, out, dtype), lambda A: A.mean(axis, dtype=dtype, out=out))

    def max(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the largest element, with ``explicit`` the largest entry: of all, of each column (``axis``
        0) or of each row (1)."""
        return self._extreme("max", axis, out, explicit)

    def min(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the smallest element, with ``explicit`` the smallest entry: of all, of each column (``axis``
        0) or of each row (1)."""
        return self._extreme("min", axis, out, explicit)

    def nanmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the largest element but NaN, with ``explicit`` the largest entry: of all, of each column (``axis``
        0) or of each row (1)."""
        return self._extreme("nanmax", axis, out, explicit)

    def nanmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Return the smallest element but NaN, with ``explicit`` the smallest entry: of all, of each column (``axis``
        0) or of each row (1)."""
        return self._extreme("nanmin", axis, out, explicit)

    def _extreme(self, name: str, axis: Any, out: Any, explicit: bool) -> Any:
        more = {"explicit": True} if explicit else {}  # SciPy 1.15 and later
        return self._by_scipy(_named(axis, out), lambda A: getattr(A.tocsr(), name)(axis, out, **more))

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of the diagonal of column minus row ``offset``."""
        return self._by_scipy("offset", lambda A: A.trace(offset))

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return the number of entries that are not zero."""
        given = () if axis is None else (axis,)  # SciPy 1.15 and later
        return self._by_scipy("axis", lambda A: A.count_nonzero(*given))

    def nonzero(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and the columns of the entries that are not zero."""
        return self._by_scipy("M", lambda A: A.nonzero())

    def dot(self, other: Any) -> Any:
        """Return ``M @ other``, for a number ``M * other``."""
        return self * other if np.isscalar(other) else self @ other

    def multiply(self, other: Any) -> Any:
        """Return the product element by element with a matrix, an array or a number."""
        return self._by_scipy("other", lambda A: A.multiply(on_host(other)))

    def maximum(self, other: Any) -> Any:
        """Return the larger of each two elements."""
        return self._by_scipy("other", lambda A: A.maximum(on_host(other)))

    def minimum(self, other: Any) -> Any:
        """Return the smaller of each two elements."""
        return self._by_scipy("other", lambda A: A.minimum(on_host(other)))

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return each entry to the power ``n``, as ``M ** n`` does."""
        return self._by_scipy("n" if _of_numbers(dtype) else "dtype", lambda A: A.power(n, dtype=dtype))

    __iter__ = None  # each row would be a copy of the matrix

    def __getitem__(self, index: Any) -> Any:
        return self._by_scipy("index", lambda A: A.tocsr()[index])

    def _quotient(self, other: Any) -> Any:
        return self._by_scipy("divisor", lambda A: A / on_host(other))

    def _product(self, other: Any) -> Any:
        return self._by_scipy("x", lambda A: _matrix_product(A, on_host(other)))

    def _product_from_the_left(self, other: Any) -> Any:
        return self._by_scipy("x", lambda A: _matrix_product(on_host(other), A))

    def _multiplied_by(self, left: Any) -> Any:
        """``left * M``: SciPy's matrices multiply as such, its arrays element by element."""
        from scipy.sparse import spmatrix

        return self._product_from_the_left(left) if isinstance(left, spmatrix) else self.multiply(left)

    def __add__(self, other: Any) -> Any:
        return self._by_scipy("other", lambda A: operator.add(*_addends(A, other)))

    def __radd__(self, other: Any) -> Any:
        return self._by_scipy("other", lambda A: operator.add(*_addends(A, other)[::-1]))

    def __sub__(self, other: Any) -> Any:
        return self._by_scipy("other", lambda A: operator.sub(*_addends(A, other)))

    def __rsub__(self, other: Any) -> Any:
        return self._by_scipy("other", lambda A: operator.sub(*_addends(A, other)[::-1]))

    def __bool__(self) -> bool:
        if self.shape != (1, 1):  # as SciPy's functions find where they take it for a number
            raise ParameterError(
                "M: whether a matrix is true is ambiguous; ask M.count_nonzero(), and give SciPy's functions M.tocsr() "
                "or M.toarray()"
            )
        return bool(self._by_scipy("M", bool))

    def __abs__(self) -> Any:
        return self._by_scipy("M", abs)

    def __round__(self, ndigits: int = 0) -> Any:
        return self._by_scipy("ndigits", lambda A: round(A, ndigits))

    def __pow__(self, n: Any) -> Any:
        return self._by_scipy("n", lambda A: A**n)
