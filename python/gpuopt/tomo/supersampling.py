"""Pixels that take means: several rays for each pixel of a detector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.kinds import Indices
from gpuopt.tomo.operators import GeometricOperator, Kept
from gpuopt.tomo.volume import Volume

_MOST = 16  # rays a pixel along each axis; beyond it nothing changes but the time


@checked
class Supersampled(GeometricOperator[Kept]):
    """``A`` with ``times`` rays for each pixel along each axis of the detector, of which a projection is the mean.

    A pixel measures a mean over its area, not the line through its centre, which counts where pixels are larger than
    voxels: of a head of 48^2 and pixels three voxels wide the error of CGLS falls from 58 to 52 %, with ``times`` = 4
    to 51 %; of pixels two voxels wide from 43 to 42 %; of pixels as wide as voxels it rises.

    The mean is that of scans whose detector is shifted by parts of a pixel, so that the transpose is as exact as that
    of ``A``. Beside an image and projections each of these scans takes the tables of its rays, 64 bytes for each column
    of a view, which ``memory_limit`` of ``A`` does not count. ``times`` = 2 costs 4 times the time in space, 2 times in
    a plane. Filtered back projection reads projections between pixels, and is that of ``A``. Of an ``A`` that is
    supersampled itself each ray is divided again: ``Supersampled(Supersampled(A, 2), 2)`` is ``Supersampled(A, 4)``.
    Raises ParameterError, and UnsupportedError for an ``A`` that defines no ``with_scan``.

    Examples
    --------
    >>> A = gt.NumpyProjector(gt.parallel2d(6, det=4, pixel=2.0), gt.Volume((8, 8)))
    >>> B = gt.Supersampled(A, times=2)
    >>> B.data_shape == A.data_shape, B.adjoint_error() < 1e-12
    (True, True)
    """

    def __init__(self, A: GeometricOperator[Kept], times: int = 2) -> None:
        if not isinstance(A, GeometricOperator):
            raise ParameterError(f"A: {type(A).__name__} has no geometry; give a Projector or a NumpyProjector")
        times = checks.count("times", times, _MOST)
        if isinstance(A, Supersampled):
            times *= A.times
            A = A.operator
        if times > _MOST:
            raise ParameterError(f"times: with those of A it makes {times} rays a pixel; give at most {_MOST} in all")
        along = checks.centres(times, 1 / times)
        shifts = [(v, u) for v in (along if A.geometry.dimensions == 3 else [0.0]) for u in along]
        self._keep(A, times, [A.with_scan(A.geometry.shifted(v, u), A.volume) for v, u in shifts])

    def _keep(self, A: GeometricOperator[Kept], times: int, parts: Sequence[GeometricOperator[Kept]]) -> None:
        super().__init__(A.geometry, A.volume, A.pair)
        self.operator, self.times, self.backend, self._parts = A, times, A.backend, parts

    def forward(self, x: Kept, out: Kept | None = None) -> Kept:
        checks.apart("x", x, out)
        return self._mean([part.forward for part in self._parts], x, out)

    def back(self, p: Kept, out: Kept | None = None) -> Kept:
        checks.apart("projections", p, out)
        return self._mean([part.back for part in self._parts], p, out)

    def back_project(self, p: Kept, weight: str, out: Kept | None = None) -> Kept:
        return self.operator.back_project(p, weight, out)

    def subset(self, views: Indices) -> Supersampled[Kept]:
        some = self.geometry.view_indices(views)
        found: Supersampled[Kept] = Supersampled.__new__(Supersampled)
        found._keep(self.operator.subset(some), self.times, [part.subset(some) for part in self._parts])
        return found

    def with_scan(self, geometry: Geometry, volume: Volume) -> Supersampled[Kept]:
        return Supersampled(self.operator.with_scan(geometry, volume), self.times)

    def __repr__(self) -> str:
        return f"<Supersampled: {self.times} rays a pixel along each axis of {self.operator!r}>"

    def _mean(self, apply: Sequence[Callable[..., Kept]], given: Kept, out: Kept | None) -> Kept:
        first, *others = apply
        total = first(given, out=out)
        part: Kept | None = None
        for one in others:
            part = one(given, out=part)
            self.backend.axpy(1.0, part, total, out=total)
        self.backend.axpy(1 / len(apply) - 1, total, total, out=total)
        return total
