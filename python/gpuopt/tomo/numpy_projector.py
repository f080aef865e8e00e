"""Projections and arithmetic in plain NumPy: an operator that needs no device. Slow; for volumes up to 64^3."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuopt._core import ArrayError
from gpuopt.checked import checked, real
from gpuopt.tomo import checks, numpy_kernels
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.kinds import AnyArray, Indices
from gpuopt.tomo.operators import Backend, GeometricOperator, Norms
from gpuopt.tomo.volume import Volume


class _Norms(NamedTuple):
    plain: float
    weighted: float


class NumpyBackend(Backend[np.ndarray]):
    """NumPy arrays, in fp64 whatever the caller's dtype is."""

    dtype: np.dtype[Any] = np.dtype(np.float64)

    def take(self, given: AnyArray, name: str, shape: tuple[int, ...], axes: tuple[str, ...]) -> np.ndarray:
        checks.shape(name, given, shape, axes, "the operator")
        return self._numbers(given, name, axes).astype(self.dtype, copy=False)

    def give(self, array: np.ndarray, like: Any) -> Any:
        return array.astype(np.asarray(like).dtype, copy=False)

    def finite(self, array: np.ndarray, like: Any) -> bool:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.array([array.min(), array.max()]).astype(like.dtype)).all())

    def host(self, given: AnyArray, axes: tuple[str, ...]) -> np.ndarray:
        return self._numbers(given, "projections", axes)

    def filtered(self, given: Any, by: RowFilter, axes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        self._require_floats(given, "projections")
        found, facts = by.on_host(given)
        return found.astype(self.dtype, copy=False), facts

    @classmethod
    def _numbers(cls, given: Any, name: str, axes: tuple[str, ...]) -> np.ndarray:
        cls._require_floats(given, name)
        checks.floats(name, given, axes)
        return np.asarray(given)

    @staticmethod
    def _require_floats(given: Any, name: str) -> None:
        if not isinstance(given, np.ndarray):
            raise ArrayError(f"{name}: {type(given).__name__} is not a NumPy array; use np.asarray({name})")
        checks.float_dtype(name, given)

    def full(self, shape: tuple[int, ...], value: float) -> np.ndarray:
        return np.full(shape, value, dtype=self.dtype)

    def fill(self, x: np.ndarray, value: float) -> None:
        x.fill(value)

    def copy(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def views(self, p: np.ndarray, index: np.ndarray) -> np.ndarray:
        return p[index]

    def axpy(self, a: float, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        np.add(a * x, y, out=out)

    def multiply(self, x: np.ndarray, by: np.ndarray) -> None:
        x *= by

    def reciprocal(self, x: np.ndarray, fraction: float, largest: float | None = None) -> None:
        counts = x > fraction * (self.largest(x) if largest is None else largest)
        np.divide(1.0, x, out=x, where=counts)
        x[~counts] = 0

    def residual(self, b: np.ndarray, ax: np.ndarray, weights: np.ndarray) -> Norms:
        np.subtract(b, ax, out=ax)
        plain = self.dot(ax, ax)
        weighted = self.dot(ax, weights * ax)
        ax *= weights
        return _Norms(plain, weighted)

    def update(
        self,
        x: np.ndarray,
        step: float,
        weights: np.ndarray,
        g: np.ndarray,
        low: float | None,
        high: float | None,
        mask: np.ndarray | None,
        out: np.ndarray,
        rounding: float = 0.0,
    ) -> None:
        least = rounding * np.abs(x) if rounding else None  # before ``out``, which may be x
        np.add(x, step * weights * g, out=out)
        if least is not None:
            out[np.abs(out) <= least] = 0
        if low is not None or high is not None:
            np.clip(out, low, high, out=out)
        if mask is not None:
            out *= mask

    def largest(self, x: np.ndarray) -> float:
        return float(x.max())

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        return float(np.vdot(x, y))


@checked
class NumpyProjector(GeometricOperator[np.ndarray]):
    """The projections of a volume by a scan in plain NumPy and fp64, as an operator that every algorithm takes.

    ``geometry``, ``volume`` and ``pair`` as in :class:`Projector`. Takes float32 and float64, and returns the dtype it
    was given. It needs no device and is slow: for volumes up to 64^3. Raises ParameterError.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(2, 3), gt.Volume((3, 3)))
    >>> A(np.ones((3, 3))).round(6)
    array([[3., 3., 3.],
           [3., 3., 3.]])
    >>> A.adjoint_error() < 1e-12
    True
    """

    backend = NumpyBackend()

    def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        checks.shape("x", x, self.image_shape, self.image_axes, "the operator")
        image = real("x", x, "an image")
        return self._into(out, numpy_kernels.joseph(self.geometry, self.volume, image), self.data_axes)

    def back(self, p: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        if self.pair == "fast":
            return self.back_project(p, "adjoint", out)
        checks.shape("projections", p, self.data_shape, self.data_axes, "the operator")
        data = real("projections", p, "projections")
        return self._into(out, numpy_kernels.joseph_adjoint(self.geometry, self.volume, data), self.image_axes)

    def back_project(self, p: np.ndarray, weight: str, out: np.ndarray | None = None) -> np.ndarray:
        checks.shape("projections", p, self.data_shape, self.data_axes, "the operator")
        data = real("projections", p, "projections")
        return self._into(out, numpy_kernels.back_project(self.geometry, self.volume, data, weight), self.image_axes)

    def subset(self, views: Indices) -> NumpyProjector:
        return NumpyProjector(self.geometry.subset(views), self.volume, self.pair)

    def with_scan(self, geometry: Geometry, volume: Volume) -> NumpyProjector:
        return NumpyProjector(geometry, volume, self.pair)

    @staticmethod
    def _into(out: np.ndarray | None, found: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
        if out is None:
            return found
        checks.shape("out", out, found.shape, axes, "the result")
        if not out.flags.writeable or out.dtype.kind != "f":
            raise ArrayError(f"out: it is {out.dtype} or read-only; give a writable array of floats")
        out[...] = found
        return out
