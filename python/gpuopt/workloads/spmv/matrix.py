"""Diagonal matrices that live on a device."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, ParameterError, UnsupportedError
from gpuopt.arrays import Array, factor
from gpuopt.checked import checked, unsupported
from gpuopt.configuration import Configuration
from gpuopt.resolution import resolve
from gpuopt.selection import Selector, select
from gpuopt.workloads.spmv.diagonals import Diagonals, entries, extent_of, knows_products, over, parts_of, times
from gpuopt.workloads.spmv.through_scipy import ThroughScipy, is_sparse

if TYPE_CHECKING:
    from scipy.sparse import dia_array

KEPT_PRODUCTS = 2
Made = TypeVar("Made")


@checked
class DiaMatrix(ThroughScipy):
    """A sparse matrix stored by diagonals (DIA) in device memory; ``M @ x`` and ``x @ M`` multiply on the device.

    ``2 * M``, ``M / 2`` and ``-M`` are new matrices, ``M.toarray()`` and ``M.diagonal(k)`` NumPy arrays, of the values
    and dtypes that SciPy's ``dia_array`` gives. All of these copy the values to the host, where NumPy computes.

    With SciPy there is more under its names, computed by SciPy on the host: sums, differences, products, quotients and
    ``multiply``, ``maximum``, ``minimum`` with matrices; ``power``, ``abs``, ``round``, ``astype``; ``sum``, ``mean``,
    ``max``, ``min``, ``nanmax``, ``nanmin``, ``trace``, ``count_nonzero``, ``nonzero``; ``M[i, j]`` and slices;
    ``to_scipy``, ``tocsr``, ``tocsc``, ``tocoo``, ``tobsr``, ``asformat``. Results are DiaMatrix where SciPy has a
    ``dia_array`` of float32 or float64, otherwise SciPy's own. SciPy's iterative solvers take a DiaMatrix; ``spsolve``,
    ``inv`` and ``expm`` take ``M.tocsc()``, ``kron`` and ``triu`` too. It never changes: values are copied, and later
    changes of the given arrays have no effect. ``M == other`` is whether both are one object.

    Parameters
    ----------
    matrix
        A SciPy ``dia_array`` or ``dia_matrix``, or a tuple ``(data, offsets)`` as SciPy defines them: ``data`` (D, L)
        float32 or float64, C-contiguous, with ``data[k, j] = A[j - offsets[k], j]``; ``offsets`` (D,) different whole
        numbers in any order. Products take what shorter data leave out of a diagonal for stored zeros: Inf or NaN in x
        makes NaN there, where SciPy has 0.
    shape
        (rows, columns); needed with a tuple, and of a SciPy matrix its own.
    device
        A Device, an index, a type or part of a name; None takes the default device.
    indexed
        Which index of A the second index of ``data`` is: ``"column"`` as in SciPy, or ``"row"`` as in Catanzaro 2010,
        where ``data[k, i] = A[i, i + offsets[k]]``; a SciPy matrix is indexed by column.
    stored
        None multiplies by the values as given. ``"float16"`` allows products to read values rounded to 16 bits, which
        halves the traffic. Values are first scaled by a power of two that brings the largest just below 2^15. A value
        is then off by at most 2^-11 of it, or 2^-39 of the largest, whichever is more: 16 bits have fewer digits for
        values below 2^-28 of the largest. The largest must be above 2^-106 (float32) or 2^-986 (float64) for that. Sums
        stay in ``dtype``, of scaled values: they are infinite where 2^15 times the elements of x is. Values are read as
        given where ``alpha`` divided by the scale is no number of ``dtype``.

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError (complex values), DeviceMemoryError, NoDeviceError

    Examples
    --------
    >>> M = gpuopt.DiaMatrix((np.array([[2, 2, 2], [-1, -1, -1]], np.float32), [0, 1]), (3, 3))
    >>> M.toarray()
    array([[ 2., -1.,  0.],
           [ 0.,  2., -1.],
           [ 0.,  0.,  2.]], dtype=float32)
    >>> M @ np.ones(3, np.float32)
    array([1., 1., 2.], dtype=float32)
    >>> M.T.toarray()[1].tolist(), M.nnz, M.diagonal(1).tolist(), M.resolve("paper:basic").variant
    ([-1.0, 2.0, 0.0], 5, [-1.0, -1.0], 'basic')
    >>> [float(each) for each in (M.sum(), M.trace(), M.max(), M.nanmax(), M.min(), M.nanmin(), M.count_nonzero())]
    [4.0, 6.0, 2.0, 2.0, -1.0, -1.0, 5.0]
    >>> [each.toarray()[0].tolist() for each in (M.power(2), M.multiply(M), M.maximum(M.T), M.minimum(M.T))]
    [[4.0, 1.0, 0.0], [4.0, 1.0, 0.0], [2.0, 0.0, 0.0], [2.0, -1.0, 0.0]]
    >>> [each.format for each in (M.to_scipy(), M.tocsr(), M.tocsc(), M.tocoo(), M.tobsr(), M.asformat("lil"))]
    ['dia', 'csr', 'csc', 'coo', 'bsr', 'lil']
    >>> M.matvec(np.ones(3)), M.rmatvec(np.ones(3)), M.linear_operator().shape
    (array([1., 1., 2.], dtype=float32), array([2., 1., 1.], dtype=float32), (3, 3))
    """

    __array_ufunc__ = None  # ndarray @ M and ndarray * M must not iterate over it
    __slots__ = ("_configurations", "_extent", "_handle", "_lock", "_products", "_stored", "_transposed")

    def __init__(
        self,
        matrix: Any,
        shape: tuple[int, int] | None = None,
        *,
        device: Selector = None,
        indexed: str = "column",
        stored: str | None = None,
    ) -> None:
        if stored not in (None, "float16"):
            raise ParameterError(f"stored: {stored!r} is not offered; use None or 'float16'")
        data, offsets, shape = parts_of(matrix, shape, indexed)
        handle = _core.DiaMatrix(data, offsets, shape, select(device), indexed)
        self._adopt(handle, stored, extent_of(shape, data.shape[1], indexed))

    @classmethod
    def _in_place(cls, matrix: Any, device: Device) -> DiaMatrix:
        """A matrix whose values stay the caller's, on a CPU: for one product, while nobody changes them."""
        data, offsets, shape = parts_of(matrix, None, "column")
        handle = _core.DiaMatrix(data, offsets, shape, device, in_place=True)
        return cls._wrap(handle, None, extent_of(shape, data.shape[1], "column"))

    def _adopt(self, handle: _core.DiaMatrix, stored: str | None, extent: tuple[int, int]) -> None:
        self._handle = handle
        self._extent = extent
        self._stored = stored
        self._configurations: dict[tuple[str | None, bool], Configuration] = {}
        self._products: dict[object, _core.HostProduct] = {}
        self._lock = threading.Lock()
        self._transposed: DiaMatrix | None = None

    @classmethod
    def _wrap(cls, handle: _core.DiaMatrix, stored: str | None, extent: tuple[int, int]) -> DiaMatrix:
        made = cls.__new__(cls)
        made._adopt(handle, stored, extent)
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._handle.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._handle.dtype

    @property
    def device(self) -> Device:
        """The device that holds the values."""
        return self._handle.device

    @property
    def offsets(self) -> np.ndarray:
        """Column minus row of each stored diagonal that has entries inside the matrix, int64 (D,)."""
        return self._handle.offsets

    @property
    def stored_entries(self) -> int:
        """Number of entries of the diagonals that lie inside the matrix, stored zeros included."""
        return self._handle.stored_entries

    @property
    def nnz(self) -> int:
        """Number of given entries inside the matrix, as SciPy counts them: stored zeros included, without those that
        data narrower than the matrix leave out."""
        return entries(self.offsets, self._extent)

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def symmetric(self) -> bool:
        """Whether the matrix is exactly symmetric, with both diagonals of each pair stored. The device finds out when
        this is first read."""
        return self._handle.symmetric

    @property
    def grid_width(self) -> int:
        """Width of the grid whose points are the rows of the matrix, found from the offsets; 0 where the offsets are
        not those of a grid. It is the least distance of a band of neighbouring offsets from the diagonal. Of a grid so
        small that bands meet or are cut off, that is another number than its width; products are right with it."""
        return self._handle.grid_width

    @property
    def stored(self) -> str | None:
        """``"float16"`` where products may read values rounded to 16 bits, otherwise None."""
        return self._stored

    @property
    def configuration(self) -> Configuration:
        """The configuration that ``M @ x`` uses for a vector x."""
        return self.resolve(None)

    def resolve(self, variant: str | Configuration | None, columns: bool = False) -> Configuration:
        """Return the full configuration that ``variant=`` means for this matrix and a vector, or with ``columns`` a
        matrix with several columns. Tuned records are read once for each DiaMatrix. Raises ParameterError.
        """
        if isinstance(variant, Configuration):
            return resolve("spmv", self.device, self.dtype.name, variant)
        key = (variant, columns)
        if key not in self._configurations:
            input_properties = {
                "symmetric": lambda: self.symmetric,
                "grid": lambda: self.grid_width > 0,
                "columns": lambda: columns,
                "stored": lambda: self._stored,
            }
            self._configurations[key] = resolve("spmv", self.device, self.dtype.name, variant, input_properties)
        return self._configurations[key]

    def _planned(
        self,
        variant: str | Configuration | None,
        columns: bool,
        make: Callable[[Configuration], Made],
        stacklevel: int = 6,
    ) -> Made:
        """Return ``make(configuration)`` for the configuration that ``variant=`` means.

        Where a tuned record chose the configuration and it cannot run with this matrix, for example because of too many
        bands of diagonals, a warning is given and the variant ``interior``, which takes any matrix and up to 65,536
        columns, is used instead. ``stacklevel`` is the user's line as seen from here, frames of checks included.
        """
        configuration = self.resolve(variant, columns)
        try:
            return make(configuration)
        except UnsupportedError as error:
            general = resolve("spmv", self.device, self.dtype.name, "interior")
            if variant is not None or configuration == general:
                raise
            made = make(general)  # raises again where the reason was not the configuration
            warnings.warn(
                f"{error}; {general} is used instead, `gpuopt tune spmv` finds a better one", stacklevel=stacklevel
            )
            self._configurations[None, columns] = general
            return made

    def product(
        self,
        x: Array,
        y: Array | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        out: Array | None = None,
        variant: str | Configuration | None = None,
    ) -> Array:
        """Return ``alpha * A @ x + beta * y``; arguments, result and errors are those of :func:`gpuopt.spmv`."""
        alpha, beta = factor("alpha", alpha, self.dtype), factor("beta", beta, self.dtype)
        if isinstance(x, np.ndarray):
            return self._host_product(x, y, alpha, beta, out, variant)
        columns = len(getattr(x, "shape", ())) == 2 and x.shape[1] > 1

        def multiply(configuration: Configuration) -> Array:
            name, parameters = configuration.variant, configuration.parameters
            result: Array = _core.spmv(self._handle, x, y, alpha, beta, out, name, parameters)
            return result

        return self._planned(variant, columns, multiply)

    def _host_product(
        self, x: np.ndarray, y: Any, alpha: float, beta: float, out: Any, variant: str | Configuration | None
    ) -> np.ndarray:
        """Return ``alpha * A @ x + beta * y`` for NumPy arrays. Plans of the latest products are kept."""
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1] or x.dtype != self.dtype:
            _core.check_spmv_arrays(self._handle, x, y, beta, out)  # raises ArrayError, before anything is packed
        columns = x.shape[1] if x.ndim == 2 else 1

        def product(configuration: Configuration) -> _core.HostProduct:
            edited = _core.kernels_may_change()
            key = configuration, columns, repr(alpha), beta, edited  # 0.0 == -0.0
            found = self._products.get(key)
            if found is None or edited:
                levels = configuration.parameters
                found = _core.HostProduct(self._handle, columns, alpha, beta, configuration.variant, levels)
                with self._lock:  # few are kept: each holds a packed matrix, and buffers for x and the result
                    self._products = {**dict(list(self._products.items())[1 - KEPT_PRODUCTS :]), key: found}
            return found

        plan = self._planned(variant, columns > 1, product, stacklevel=7)
        result: np.ndarray = plan.multiply(self._handle, x, y, out)
        return result

    @property
    def T(self) -> DiaMatrix:
        """The transpose, made when first read. It shares the stored values until a product needs them in another
        form."""
        if self._transposed is None:
            extent = (self._extent[1], self._extent[0])
            self._transposed = DiaMatrix._wrap(self._handle.transposed(), self._stored, extent)
        return self._transposed

    def transpose(self, axes: tuple[int, int] | None = None) -> DiaMatrix:
        """Return :attr:`T`. ``axes`` may be (1, 0), which is what None means. Raises ParameterError."""
        if axes not in (None, (1, 0)):
            raise ParameterError(f"axes: {axes} are not (1, 0), the only axes of a transpose; leave them out")
        return self.T

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return the matrix as a NumPy array (rows, columns), zeros included: in ``order`` "C" (None too) or "F", or in
        ``out``, an array of its shape."""
        return self._diagonals().dense(order, out)

    todense = toarray

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return the diagonal of column minus row ``k`` as a NumPy array: zeros where it is not stored, and of length 0
        where it does not touch the matrix."""
        return self._diagonals().diagonal(k)

    def to_scipy(self) -> dia_array:
        """Return a copy as SciPy's ``dia_array``, as wide as the data that were given. Needs SciPy."""
        from scipy.sparse import dia_array

        data = np.ascontiguousarray(self._handle.download()[:, : self._extent[1]])
        return dia_array((data, self.offsets), shape=self.shape)

    def _from_scipy(self, made: dia_array) -> DiaMatrix:
        """Return a ``dia_array`` of float32 or float64 as a matrix on the same device, stored alike."""
        data = np.ascontiguousarray(made.data)
        return DiaMatrix((data, made.offsets), made.shape, device=self.device, stored=self._stored)

    def _diagonals(self) -> Diagonals:
        """The values, copied to the host."""
        return Diagonals(self._handle.download(), self.offsets, self.shape, self._extent)

    def _changed(self, change: Callable[[np.ndarray], np.ndarray]) -> DiaMatrix:
        """A matrix on the same device, whose values ``change`` makes of these."""
        data = self._diagonals().changed(change)
        handle = _core.DiaMatrix(data, self.offsets, self.shape, self.device)
        return DiaMatrix._wrap(handle, self._stored, self._extent)

    def __mul__(self, factor: Any) -> Any:
        if is_sparse(factor):
            return self.multiply(factor)
        if knows_products(factor, "__rmul__"):
            return NotImplemented
        return self._changed(times("factor", factor))

    def __rmul__(self, factor: Any) -> Any:
        if is_sparse(factor):
            return self._multiplied_by(factor)
        return self._changed(times("factor", factor))

    def __truediv__(self, divisor: Any) -> Any:
        if is_sparse(divisor):
            return self._quotient(divisor)
        return self._changed(over("divisor", divisor))

    def __neg__(self) -> DiaMatrix:
        return self._changed(np.negative)

    @overload
    def __matmul__(self, x: np.ndarray) -> np.ndarray: ...
    @overload
    def __matmul__(self, x: DeviceArray) -> DeviceArray: ...
    @overload
    def __matmul__(self, x: Any) -> Any: ...
    def __matmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self._product(x)
        if knows_products(x, "__rmatmul__"):
            return NotImplemented
        return self.product(x)

    @overload
    def __rmatmul__(self, x: np.ndarray) -> np.ndarray: ...
    @overload
    def __rmatmul__(self, x: DeviceArray) -> DeviceArray: ...
    @overload
    def __rmatmul__(self, x: Any) -> Any: ...
    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            return self._product_from_the_left(x)
        shape: Any = getattr(x, "shape", ())
        if not isinstance(shape, tuple) or len(shape) not in (1, 2):
            return self.T.product(x)
        if shape[-1] != self.shape[0]:
            raise ArrayError(f"x: its shape is {tuple(shape)}, A's is {self.shape}; its last length must be A's first")
        if len(shape) == 1:
            return self.T.product(x)
        if not isinstance(x, np.ndarray):
            raise unsupported("x: a DeviceArray of two axes is not transposed; use M.T @ x with x (rows, k)")
        return self.T.product(np.ascontiguousarray(x.T)).T  # a copy of x, unless it lies as its transpose does

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<gpuopt.DiaMatrix {rows} x {columns}, {len(self.offsets)} diagonals, "
            f"{self.dtype.name} on {self.device.name}>"
        )


def as_matrix(matrix: Any, device: Selector = None, *, once: bool = False) -> DiaMatrix:
    """Return ``matrix`` itself where it is a DiaMatrix, otherwise a DiaMatrix made from it, on a CPU in place if it is
    for ``once``. Raises UnsupportedError for a DiaMatrix on a device other than ``device``."""
    if isinstance(matrix, DiaMatrix):
        if device is not None and select(device).index != matrix.device.index:
            raise unsupported(
                f"device: A lies on {matrix.device.name}, not on {select(device).name}; make a DiaMatrix there"
            )
        return matrix
    chosen = select(device)
    return DiaMatrix._in_place(matrix, chosen) if once and chosen.type == "cpu" else DiaMatrix(matrix, device=chosen)
