"""Diagonal matrices that live on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, UnsupportedError
from gpuopt.configuration import Configuration, resolve
from gpuopt.selection import Selector, select

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


def _is_scipy_dia(matrix: object) -> bool:
    return getattr(matrix, "format", None) == "dia" and hasattr(matrix, "offsets")


class DiaMatrix:
    """A diagonal (DIA) matrix in device memory; ``M @ x`` multiplies there.

    Parameters
    ----------
    matrix
        A SciPy ``dia_array`` or ``dia_matrix``, or a tuple ``(data, offsets)`` as SciPy defines them: ``data`` (D, L)
        float32 or float64, C-contiguous, with ``data[k, j] = A[j - offsets[k], j]``; ``offsets`` (D,) whole numbers,
        unique, in any order.
    shape
        (rows, columns); needed with a tuple.
    device
        As everywhere: a Device, an index, a type or part of a name.
    indexed
        ``"column"`` is SciPy's convention; with ``"row"``, ``data[k, i] = A[i, i + offsets[k]]`` as in Catanzaro 2010.

    Values are copied; later changes of the arrays given do not show. Raises ArrayError, UnsupportedError (complex
    values), DeviceMemoryError.
    """

    __array_ufunc__ = None  # ndarray @ M and ndarray * M must not iterate over it
    __slots__ = ("_configurations", "_handle", "_transposed")

    def __init__(
        self, matrix: Any, shape: tuple[int, int] | None = None, *, device: Selector = None, indexed: str = "column"
    ) -> None:
        if _is_scipy_dia(matrix):
            data, offsets, shape = matrix.data, matrix.offsets, matrix.shape
        elif isinstance(matrix, tuple) and len(matrix) == 2:
            data, offsets = matrix
            if shape is None:
                raise ArrayError("shape: it is needed with (data, offsets); give (rows, columns)")
        else:
            raise ArrayError(
                f"A: expected a SciPy dia_array, a DiaMatrix or (data, offsets), got {type(matrix).__name__}; "
                "convert with scipy.sparse.dia_array(A)"
            )
        self._handle = _core.DiaMatrix(
            np.asarray(data), np.asarray(offsets), (int(shape[0]), int(shape[1])), select(device), indexed
        )
        self._configurations: dict[str, Configuration] = {}
        self._transposed: DiaMatrix | None = None

    @classmethod
    def _wrap(cls, handle: _core.DiaMatrix) -> DiaMatrix:
        made = cls.__new__(cls)
        made._handle = handle
        made._configurations = {}
        made._transposed = None
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
        """Column minus row of each stored diagonal that touches the matrix, int64 (D,)."""
        return self._handle.offsets

    @property
    def stored_entries(self) -> int:
        """Entries of these diagonals that lie inside the matrix."""
        return self._handle.stored_entries

    @property
    def configuration(self) -> Configuration:
        """What ``M @ x`` runs."""
        return self.resolve(None)

    def resolve(self, variant: str | Configuration | None) -> Configuration:
        """The full configuration that ``variant=`` means for this matrix; tuned records are read once a matrix."""
        if isinstance(variant, Configuration):
            return resolve("spmv", self.device, self.dtype.name, variant)
        key = variant or ""
        if key not in self._configurations:
            self._configurations[key] = resolve("spmv", self.device, self.dtype.name, variant)
        return self._configurations[key]

    @property
    def T(self) -> DiaMatrix:
        """The transpose, made once; shares the stored values until a product needs them in another form."""
        if self._transposed is None:
            self._transposed = DiaMatrix._wrap(self._handle.transposed())
        return self._transposed

    @overload
    def __matmul__(self, x: np.ndarray) -> np.ndarray: ...
    @overload
    def __matmul__(self, x: DeviceArray) -> DeviceArray: ...
    def __matmul__(self, x: Any) -> Any:
        from gpuopt.ops import spmv

        return spmv(self, x)

    def linear_operator(self) -> LinearOperator:
        """A SciPy LinearOperator whose products (vectors, matrices, adjoints) run on the device."""
        from scipy.sparse.linalg import LinearOperator

        transposed = self.T

        def product(matrix: DiaMatrix) -> Any:
            def apply(x: np.ndarray) -> np.ndarray:
                return matrix @ np.ascontiguousarray(x, dtype=matrix.dtype)

            return apply

        return LinearOperator(
            self.shape,
            matvec=product(self),
            matmat=product(self),
            rmatvec=product(transposed),
            rmatmat=product(transposed),
            dtype=self.dtype,
        )

    def __repr__(self) -> str:
        rows, columns = self.shape
        return (
            f"<gpuopt.DiaMatrix {rows} x {columns}, {len(self.offsets)} diagonals, "
            f"{self.dtype.name} on {self.device.name}>"
        )


def as_matrix(matrix: Any, device: Selector = None) -> DiaMatrix:
    """``matrix`` itself if it is on the device already, else a DiaMatrix made from it."""
    if isinstance(matrix, DiaMatrix):
        if device is not None and select(device).index != matrix.device.index:
            raise UnsupportedError(
                f"device: A lies on {matrix.device.name}, not on {select(device).name}; make a DiaMatrix there"
            )
        return matrix
    return DiaMatrix(matrix, device=device)
