"""Exact projections of ellipsoids and blobs, computed on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gpuopt import _core
from gpuopt._core import Device
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.geometry import Geometry

_RAYS = {"cpu": 1 << 26}  # of a launch, times bodies: a second or so, so that a signal ends it soon
_RAYS_OF_A_GPU = 1 << 33
_VIEWS = 1 << 15  # of a launch
_PART = 4  # 1 / _PART of a device's memory may hold projections
_BYTES = 64 << 20  # of a copy that goes on beside kernels


class Shape(NamedTuple):
    """A body: M takes it to the unit sphere about ``centre``, or to the width 1."""

    to_unit: Float64Array
    """M (3, 3)."""
    centre: Float64Array
    factor: float
    """The integral through the centre in the direction of M's unit vectors: twice an ellipsoid's density, or a blob's
    density times its width and the root of pi."""
    is_blob: bool


def project(
    shapes: Sequence[Shape], geometry: Geometry, times: int, device: Device, dtype: np.dtype, real: np.dtype
) -> np.ndarray:
    """Exact projections of the shape ``geometry.shape``, of ``dtype``, computed in ``real``; the mean over ``times``
    rays of a pixel along each axis. Those along an infinite axis are NaN.

    A GPU computes views while others are copied to the host. Views that take long are computed in parts."""
    scan = _Scan(sorted(shapes, key=lambda shape: shape.is_blob), geometry, times, real)
    rows, columns = geometry.detector.rows, geometry.detector.columns
    at_once = _RAYS.get(device.type, _RAYS_OF_A_GPU) // scan.rays_of_a_pixel
    found = _core.host_empty((geometry.views, rows, columns), dtype)
    if at_once < rows * columns:
        for view in range(geometry.views):
            for high, wide in parts(rows, columns, at_once):
                part = found[view : view + 1, high, wide]
                there = _core.empty(part.shape, dtype, device)
                scan.project(there, slice(view, view + 1), high, wide)
                part[:] = there.to_numpy()
    else:
        _project_views(scan, found, at_once // (rows * columns), device)
    return found.reshape(geometry.shape)


def parts(rows: int, columns: int, most: int) -> Iterator[tuple[slice, slice]]:
    """The rows and the columns of parts of a detector, each of at most ``most`` pixels, or of one: whole columns, whose
    rays are computed as those of the whole detector, or parts of a column."""
    wide, high = max(1, most // rows), min(rows, max(1, most))
    for left in range(0, columns, wide):
        for top in range(0, rows, high):
            yield slice(top, min(top + high, rows)), slice(left, min(left + wide, columns))


class _Scan:
    """Bodies, the ellipsoids first, and the rays of a scan that go through them: ``times`` of a pixel along each
    axis."""

    def __init__(self, shapes: Sequence[Shape], geometry: Geometry, times: int, real: np.dtype) -> None:
        self._shapes, self._real, self._along = shapes, real, times
        self._across = times if geometry.dimensions == 3 else 1
        self._rows, self._fine = geometry.detector.rows, geometry.refined(times)
        self.rays_of_a_pixel = times * self._across * len(shapes)

    def project(
        self,
        there: _core.DeviceArray,
        views: slice,
        rows: slice | None = None,
        columns: slice = slice(None),
        wait: bool = True,
    ) -> None:
        """Writes some views, or the pixels of them in some ``rows`` and ``columns``."""
        # The kernel counts rows from the middle of those that it computes.
        middle = 0.0 if rows is None else self._across * (rows.start + rows.stop - self._rows) / 2
        along = checks.centres(self._fine.detector.columns).reshape(-1, self._along)[columns].ravel()
        tables = (*_in_views(self._shapes, self._fine, views, middle), _steps(self._fine, views, along))
        ways, bodies, steps = (table.astype(self._real) for table in tables)
        _core.project_bodies(
            there,
            ways=ways,
            bodies=bodies,
            steps=steps,
            ellipsoids=sum(not shape.is_blob for shape in self._shapes),
            along=self._along,
            across=self._across,
            parallel=self._fine.parallel,
            wait=wait,
        )


def _project_views(scan: _Scan, found: np.ndarray, at_once: int, device: Device) -> None:
    """Projections (views, rows, columns), ``at_once`` whole views in a launch."""
    views, rows, columns = found.shape
    bytes_a_view = found.dtype.itemsize * rows * columns
    at_once = min(at_once, _VIEWS, max(1, device.global_bytes // _PART // bytes_a_view))
    beside = _copies_go_beside(device, views * bytes_a_view)
    if beside:
        at_once = min(at_once, max(1, _BYTES // bytes_a_view))
    slices = [slice(first, min(first + at_once, views)) for first in range(0, views, at_once)]
    there = _in_turn([(some.stop - some.start, rows, columns) for some in slices], found.dtype, device)
    copies = _core.CopiesBeside(device)  # when all else is there
    for number, some in enumerate(slices):
        scan.project(there[number], some, wait=not beside)
        copies.used(there[number])
        if number > 0:
            copies.download(there[number - 1], found[slices[number - 1]])
    copies.download(there[-1], found[slices[-1]])


def _copies_go_beside(device: Device, count: int) -> bool:
    """Whether so many bytes go to the host in blocks, while the device computes the next ones."""
    return device.type != "cpu" and count >= 2 * _BYTES


def _in_turn(shapes: Sequence[tuple[int, int, int]], dtype: np.dtype, device: Device) -> list[_core.DeviceArray]:
    """Arrays of these shapes, all but the last of them alike: two take turns."""
    made = [_core.empty(shape, dtype, device) for shape in shapes[:2]]
    found = [made[number % 2] for number in range(len(shapes))]
    if found[-1].shape != shapes[-1]:
        found[-1] = _core.empty(shapes[-1], dtype, device)
    return found


def _steps(fine: Geometry, views: slice, along: Float64Array) -> Float64Array:
    """Where columns of some views are, (views, columns, 2) or of all views (1, columns, 2): in steps along the row, and
    in mm beyond the plane that touches the detector in its middle. They are ``along`` columns from it."""
    if fine.radius is None:
        return np.stack([along, np.zeros_like(along)], axis=1)[np.newaxis]
    pitch = np.linalg.norm(fine.frames.column[views], axis=1, keepdims=True)
    if np.ptp(pitch) == 0:
        pitch = pitch[:1]
    angle = along * pitch / fine.radius
    # 1 - cos(angle) as 2 sin^2(angle / 2), which keeps its digits where the radius is large.
    return fine.radius * np.stack([np.sin(angle) / pitch, 2 * np.sin(angle / 2) ** 2], axis=2)


def _in_views(
    shapes: Sequence[Shape], fine: Geometry, views: slice, middle: float
) -> tuple[Float64Array, Float64Array]:
    """The rays of some views (views, 4, 3), and the bodies as they lie to them (views, bodies, 16), from the row that
    lies ``middle`` rows beyond the detector's middle."""
    source, centre, column, row = (vectors[views] for vectors in fine.frames)
    centre = centre + middle * row
    normal = fine.frames.normals()[views]
    normal = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    if fine.parallel:
        way = -source / np.linalg.norm(source, axis=1, keepdims=True)
        begin = centre
    else:
        way, begin = centre - source, source
    bodies = np.zeros((len(way), len(shapes), 16))
    for number, shape in enumerate(shapes):
        vectors = (begin - shape.centre, way, column, row, normal)
        for place, vector in enumerate(vectors):
            bodies[:, number, 3 * place : 3 * place + 3] = vector @ shape.to_unit.T
        bodies[:, number, 15] = shape.factor
    return np.stack([way, column, row, normal], axis=1), bodies
