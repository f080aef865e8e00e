"""Plain C++ loops on the host for arcs of detectors about the source: back projection, as peers of the kernels, and an
operator that iterations take in place of a device's."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from gpuopt._core import ArrayError
from gpuopt.checked import unsupported
from gpuopt.tomo import Geometry, Volume, checks
from gpuopt.tomo.numpy_projector import NumpyBackend
from gpuopt.tomo.operators import GeometricOperator
from gpuopt.tomo.scans import Cone
from gpuopt.workloads.common import cpp_loops

SERIAL, THREADED = cpp_loops.SERIAL, cpp_loops.THREADED
_WEIGHT = {"none": 0, "fdk": 1, "adjoint": 2}
_FLOATS = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
_WRITTEN = np.ctypeslib.ndpointer(np.float32, flags=("C_CONTIGUOUS", "WRITEABLE"))
_DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
_COUNTS = np.ctypeslib.ndpointer(np.dtype("l"), flags="C_CONTIGUOUS")
_SCAN = (_DOUBLES, _DOUBLES, _COUNTS, _DOUBLES)


def _function(symbol: str, flags: tuple[str, ...]) -> Callable[..., None]:
    source = resources.files("gpuopt.workloads.tomography").joinpath("loops.cpp").read_text(encoding="utf-8")
    more = (ctypes.c_long,) if symbol == "back_project" else ()
    return cpp_loops.function(source, symbol, (_FLOATS, _WRITTEN, *_SCAN, *more), flags, "tomography")


class Loops:
    """The loops of one scan and volume. Raises UnsupportedError where the detector is no arc about the source, and
    Error without a compiler."""

    def __init__(self, geometry: Geometry, volume: Volume, flags: tuple[str, ...] = THREADED) -> None:
        if not isinstance(geometry, Cone) or geometry.arc != geometry.sdd or volume.ndim != 3:
            raise unsupported("the C++ loops are for a 3D scan by an arc of detectors about the source")
        detector = geometry.detector
        nz, ny, nx = volume.shape
        per_radian, per_slope = geometry.sdd / detector.du, geometry.sdd / detector.dv
        numbers = [*volume.voxel[::-1], volume.x[0], volume.y[0], volume.z[0], geometry.sod]
        numbers += [per_radian, (detector.columns - 1) / 2 - detector.u_offset / detector.du]
        numbers += [per_slope, (detector.rows - 1) / 2 - detector.v_offset / detector.dv]
        numbers += [volume.cell * geometry.sdd**2 / (detector.du * detector.dv)]
        counts = [geometry.views, nx, ny, nz, detector.columns, detector.rows]
        turned = np.ascontiguousarray(np.mod(geometry.angles, 2 * math.pi))
        self._scan = (turned, np.ascontiguousarray(geometry.z), np.array(counts, np.dtype("l")), np.array(numbers))
        self._shapes = geometry.shape, volume.shape
        self._back, self._forward = (_function(symbol, flags) for symbol in ("back_project", "project"))

    def back_project(self, p: np.ndarray, weight: str, out: np.ndarray | None = None) -> np.ndarray:
        """At each voxel the sum over the views of W times the projection's value there; float32 in and out."""
        found = np.empty(self._shapes[1], np.float32) if out is None else out
        self._fit(p, found)
        checks.apart("p", p, found)
        self._back(p, found, *self._scan, _WEIGHT[weight])
        return found

    def project(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Line integrals by Joseph's method; float32 in and out."""
        found = np.empty(self._shapes[0], np.float32) if out is None else out
        self._fit(found, x)
        checks.apart("x", x, found)
        self._forward(x, found, *self._scan)
        return found

    def _fit(self, p: np.ndarray, x: np.ndarray) -> None:
        """Raises ArrayError unless these are projections and a volume of the scan: the loops do not look."""
        for name, array, shape in zip(("projections", "volume"), (p, x), self._shapes, strict=True):
            if array.shape != shape:
                raise ArrayError(f"{name}: shape {array.shape}; the scan has {shape}")


class _Singles(NumpyBackend):
    """Arithmetic in float32, as the loops' own."""

    dtype: np.dtype[Any] = np.dtype(np.float32)


class LoopProjector(GeometricOperator):
    """The fast pair of a scan by plain C++ loops on the host's cores, for every algorithm of ``gpuopt.tomo``. Raises as
    :class:`Loops` does."""

    backend = _Singles()

    def __init__(self, geometry: Geometry, volume: Volume) -> None:
        super().__init__(geometry, volume, "fast")
        self._loops = Loops(geometry, volume)

    def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return self._loops.project(x, out)

    def back(self, p: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return self.back_project(p, "adjoint", out)

    def back_project(self, p: np.ndarray, weight: str, out: np.ndarray | None = None) -> np.ndarray:
        return self._loops.back_project(p, weight, out)

    def subset(self, views: np.ndarray) -> LoopProjector:
        return LoopProjector(self.geometry.subset(views), self.volume)
