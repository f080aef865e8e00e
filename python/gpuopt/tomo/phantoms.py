"""Phantoms of bodies whose line integrals are known exactly, and the head of Shepp and Logan.

Lengths are in mm, densities in 1/mm; points and centres are (x, y, z). NumPy computes in fp64. 2D scans and images see
the slice of a body in the plane z = 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gpuopt._core import ArrayError, Device, ParameterError
from gpuopt.checked import checked, real, real_dtype, unsupported
from gpuopt.selection import Selector, select
from gpuopt.tomo import bodies_on_device, checks
from gpuopt.tomo.bodies import Blob, Body, Ellipsoid, shapes_of
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.geometry import Geometry, as_geometry, points_of
from gpuopt.tomo.kinds import Numbers
from gpuopt.tomo.volume import Volume

_POINTS_AT_ONCE = 2**15  # 256 kB a coordinate
_RAYS_AT_ONCE = 2**22  # of a view: 100 MB
_FARTHEST = 1e100  # of a ray's origin, mm: fp64 holds its square over that of the smallest axis

_MOST_SAMPLES = 100  # along each axis of a voxel or pixel: beyond it nothing changes but the time


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Phantom:
    """Bodies whose densities add up. ``phantom + phantom`` holds the bodies of both. Raises ParameterError.

    Examples
    --------
    >>> phantom = gt.Phantom([gt.Ellipsoid(1.0, 3.0), gt.Ellipsoid(-0.5, 1.0)])
    >>> phantom.sample(gt.Volume((1, 5), voxel=2.0))
    array([[0. , 1. , 0.5, 1. , 0. ]], dtype=float32)
    >>> round(float(phantom.line_integrals((0, 0, 0), (1, 0, 0))), 6)
    5.0
    """

    bodies: tuple[Body, ...]

    def __init__(self, bodies: Sequence[Body] | Body) -> None:
        given = (bodies,) if isinstance(bodies, Body) else tuple(bodies)
        if not given or not all(isinstance(body, Body) for body in given):
            raise ParameterError("bodies: give at least one Ellipsoid or Blob, and nothing else")
        object.__setattr__(self, "bodies", given)

    def __add__(self, other: Phantom) -> Phantom:
        return Phantom((*self.bodies, *other.bodies))

    def __repr__(self) -> str:
        return f"<Phantom: {len(self.bodies)} {'body' if len(self.bodies) == 1 else 'bodies'}>"

    def sample(self, volume: Volume, supersample: int = 1, dtype: DTypeLike = np.float32) -> np.ndarray:
        """The density in 1/mm on a volume, of its shape and of ``dtype``, float32 or float64, at the centres of its
        voxels, or as the mean over ``supersample`` points of a voxel along each axis. Raises ParameterError."""
        times = checks.count("supersample", supersample, _MOST_SAMPLES)
        image = np.zeros(volume.shape, dtype=real_dtype(dtype))
        slices, deep = (image, times) if volume.ndim == 3 else (image[np.newaxis], 1)
        _, rows, columns = slices.shape
        samples = _Samples(self.bodies, volume.refined(times))
        for k in range(len(slices)):
            for wide, high in bodies_on_device.parts(columns, rows, _POINTS_AT_ONCE // (deep * times**2)):
                down, across = (slice(times * part.start, times * part.stop) for part in (high, wide))
                values = samples.densities(slice(deep * k, deep * (k + 1)), down, across)
                split = (deep, high.stop - high.start, times, wide.stop - wide.start, times)
                slices[k, high, wide] = values.reshape(split).mean(axis=(0, 2, 4))
        return image

    def line_integrals(self, origin: ArrayLike, direction: ArrayLike) -> Float64Array:
        """Line integrals (...,) along whole lines through ``origin`` (..., 3) in a ``direction`` (..., 3), which may
        have any length but 0. Raises ArrayError, also for NaN and infinity."""
        given = _finite("origin", origin, _FARTHEST), _finite("direction", direction)
        if any(n != m and 1 not in (n, m) for n, m in zip(*(one.shape[::-1] for one in given), strict=False)):
            raise ArrayError(
                f"direction: its shape {given[1].shape} and that of origin, {given[0].shape}, do not agree"
            )
        start, along = np.broadcast_arrays(*given)
        longest = np.abs(along).max(axis=-1, keepdims=True)  # whose square fp64 may not hold
        if not longest.all():
            raise ArrayError("direction: one is zero; give where the ray goes")
        along = along / longest
        return self._integrals(start, along / np.linalg.norm(along, axis=-1, keepdims=True))

    def project(
        self,
        geometry: Geometry,
        supersample: int = 1,
        dtype: DTypeLike = np.float32,
        *,
        device: Selector = None,
    ) -> np.ndarray:
        """Exact projections of the shape ``geometry.shape`` and of ``dtype``, float32 or float64: along the ray through
        a pixel's centre, or as the mean over ``supersample`` rays of a pixel along each axis.

        Without a ``device`` NumPy computes them in fp64. A device (an index, a type such as "gpu", a part of its name,
        a Device) does so in fp64 too where it has it, to some 1e-12 of the largest, else in float32, to some 2e-4; it
        takes ellipsoids and blobs. Raises ParameterError, with a device also UnsupportedError and
        DeviceMemoryError."""
        times, kind = checks.count("supersample", supersample, _MOST_SAMPLES), real_dtype(dtype)
        if device is not None:
            return self._on_device(as_geometry(geometry), times, kind, select(device))
        fine = as_geometry(geometry).refined(times)
        found = np.empty(geometry.shape, dtype=kind)
        rows, columns = geometry.detector.rows, geometry.detector.columns
        across = times if geometry.dimensions == 3 else 1
        some = list(bodies_on_device.parts(rows, columns, _RAYS_AT_ONCE // (times * across)))
        for view, (high, wide) in itertools.product(range(geometry.views), some):
            lines, samples = (slice(n * s.start, n * s.stop) for n, s in ((across, high), (times, wide)))
            values = self._integrals(*fine._rays(view, lines, samples))
            split = (high.stop - high.start, across, wide.stop - wide.start, times)
            found.reshape(-1, rows, columns)[view, high, wide] = values.reshape(split).mean(axis=(1, 3))
        return found

    def _on_device(self, geometry: Geometry, times: int, dtype: np.dtype, device: Device) -> np.ndarray:
        if dtype == np.float64 and not device.fp64:
            raise unsupported(f"dtype: {device.name} has no float64; use np.float32", because="device")
        computed_in = np.dtype(np.float64 if device.fp64 else np.float32)
        found = bodies_on_device.project(shapes_of(self.bodies), geometry, times, device, dtype, computed_in)
        endless = any(math.inf in body.axes for body in self.bodies if isinstance(body, Ellipsoid))
        if (endless or computed_in == np.float32) and not np.isfinite(found).all():
            return self.project(geometry, times, dtype)  # which names a ray along an infinite axis
        return found

    def _integrals(self, origin: Float64Array, direction: Float64Array) -> Float64Array:
        """In parts small enough for caches."""
        shape = direction.shape[:-1]
        found = np.zeros(math.prod(shape))
        along = np.moveaxis(direction, -1, 0).reshape(3, -1)
        start = np.moveaxis(origin, -1, 0).reshape(3, -1)
        for first in range(0, len(found), _POINTS_AT_ONCE):
            some = slice(first, first + _POINTS_AT_ONCE)
            here = start if start.shape[1] == 1 else start[:, some]
            for body in self.bodies:
                found[some] += _answer(body, "integral", body.integral(here, along[:, some]), found[some].shape)
        return found.reshape(shape)


class _Samples:
    """What bodies add up to at the centres of a volume's voxels."""

    def __init__(self, bodies: Sequence[Body], volume: Volume) -> None:
        self._x, self._y, self._z = volume.x, volume.y, volume.z
        self._placed = []
        for body in bodies:
            low, high = _box(body)
            ends = zip((self._x, self._y), low, high, strict=False)
            cut = (np.searchsorted(axis, edges) for axis, *edges in ends)
            columns, rows = (slice(int(first), int(last) + 1) for first, last in cut)
            self._placed.append((body, low[2], high[2], rows, columns))

    def densities(self, slices: slice, rows: slice, columns: slice) -> Float64Array:
        """Of a part of the volume (z, y, x)."""
        x, y, z = self._x[columns], self._y[rows], self._z[slices]
        total = np.zeros((len(z), len(y), len(x)))
        for body, low, high, *box in self._placed:
            down, across = (_overlap(*both) for both in zip(box, (rows, columns), strict=True))
            if low <= z[-1] and z[0] <= high and y[down].size and x[across].size:
                grid = np.stack(np.broadcast_arrays(x[across], y[down, None], z[:, None, None]))
                total[:, down, across] += _answer(body, "density_at", body.density_at(grid), grid.shape[1:])
        return total


def _overlap(one: slice, other: slice) -> slice:
    """The indices of ``one`` that ``other`` has, from where it begins."""
    first, last = max(one.start, other.start), min(one.stop, other.stop)
    return slice(first - other.start, max(first, last) - other.start)


def _box(body: Body) -> tuple[Float64Array, Float64Array]:
    """The least and the greatest coordinates of a body's box, whichever opposite corners it names."""
    found = _answer(body, "box", body.box(), (2, 3))
    return found.min(axis=0), found.max(axis=0)


def _answer(body: Body, method: str, given: Any, shape: tuple[int, ...]) -> Float64Array:
    """What a body's method returned; of a class of the caller's own, raises ArrayError for another shape, and for
    NaN."""
    if type(body) in (Blob, Ellipsoid) and method != "box":
        return given
    name = f"{type(body).__name__}.{method}"
    found = real(name, given, f"numbers of shape {shape}")
    if found.shape != shape:
        raise ArrayError(f"{name}: its shape is {found.shape}; return {shape}")
    if np.isnan(found).any():
        raise ArrayError(f"{name}: it returned NaN; return numbers")
    return found


@checked
def sphere(radius: float, centre: Numbers = (0.0, 0.0, 0.0), density: float = 1.0) -> Phantom:
    """A ball of a ``radius`` in mm about ``centre`` (x, y, z), of ``density`` in 1/mm; in 2D the disc in which it meets
    the plane z = 0. Raises ParameterError, ArrayError.

    Examples
    --------
    >>> gt.sphere(1.0).sample(gt.Volume((3, 3)))
    array([[0., 1., 0.],
           [1., 1., 1.],
           [0., 1., 0.]], dtype=float32)
    """
    return Phantom(Ellipsoid(density, checks.length("radius", radius), centre))


@checked
def blob(width: float, centre: Numbers = (0.0, 0.0, 0.0), density: float = 1.0) -> Phantom:
    """A smooth ball: density exp(-distance^2 / width^2) about ``centre`` (x, y, z), in 1/mm; lengths are in mm. Raises
    ParameterError, ArrayError.

    Examples
    --------
    >>> gt.blob(2.0).sample(gt.Volume((1, 3), voxel=2.0)).round(3)
    array([[0.368, 1.   , 0.368]], dtype=float32)
    """
    return Phantom(Blob(width, centre, density))


# Modified and original density; a, b, c; centre; degrees counter-clockwise about z. The unit is half the field.
_HEAD = (
    (1.0, 1.0, (0.69, 0.92, 0.81), (0.0, 0.0, 0.0), 0),
    (-0.8, -0.98, (0.6624, 0.874, 0.78), (0.0, -0.0184, 0.0), 0),
    (-0.2, -0.02, (0.11, 0.31, 0.22), (0.22, 0.0, 0.0), -18),
    (-0.2, -0.02, (0.16, 0.41, 0.28), (-0.22, 0.0, 0.0), 18),
    (0.1, 0.01, (0.21, 0.25, 0.41), (0.0, 0.35, -0.15), 0),
    (0.1, 0.01, (0.046, 0.046, 0.05), (0.0, 0.1, 0.25), 0),
    (0.1, 0.01, (0.046, 0.046, 0.05), (0.0, -0.1, 0.25), 0),
    (0.1, 0.01, (0.046, 0.023, 0.05), (-0.08, -0.605, 0.0), 0),
    (0.1, 0.01, (0.023, 0.023, 0.02), (0.0, -0.606, 0.0), 0),
    (0.1, 0.01, (0.023, 0.046, 0.02), (0.06, -0.605, 0.0), 0),
)


@checked
def shepp_logan(dimensions: int = 3, field: float = 2.0, contrast: str = "modified", density: float = 1.0) -> Phantom:
    """The head of Shepp and Logan (IEEE Trans. Nucl. Sci. 21, 21, 1974) in a field of ``field`` mm, its densities times
    ``density`` 1/mm.

    ``contrast`` is "modified" (that of Toft's thesis, Technical University of Denmark, 1996, which eyes can see) or
    "original": densities of the paper less what it has everywhere within the skull, so that its soft parts differ by
    0.01 where the skull has 1. In 2D it is made of ellipses, as infinite cylinders along z. Raises ParameterError.

    Examples
    --------
    >>> head = gt.shepp_logan(2, field=16.0).sample(gt.Volume((16, 16)))
    >>> head.shape, round(float(head[8, 8]), 3)
    ((16, 16), 0.2)
    """
    if dimensions not in (2, 3):
        raise ParameterError(f"dimensions: {dimensions!r} cannot be; give 2 or 3")
    if contrast not in ("modified", "original"):
        raise ParameterError(f"contrast: {contrast!r} is not known; give 'modified' or 'original'")
    unit = checks.length("field", field, 100 * checks.SHORTEST) / 2  # of which its axes are parts
    scale = checks.number("density", density, "1/mm")
    bodies = []
    for modified, original, (a, b, c), (x, y, z), degrees in _HEAD:
        rho = scale * (modified if contrast == "modified" else original)
        if dimensions == 2:
            c, z = math.inf, 0.0
        bodies.append(
            Ellipsoid(rho, (unit * a, unit * b, unit * c), (unit * x, unit * y, unit * z), math.radians(degrees))
        )
    return Phantom(bodies)


def _finite(name: str, given: ArrayLike, most: float = math.inf) -> Float64Array:
    """Points (..., 3) that are finite, none of a coordinate beyond ``most``."""
    points = points_of(given, name)
    if not (np.isfinite(points) & (np.abs(points) <= most)).all():
        beyond = f" or beyond {most:g} mm" if most < math.inf else ""
        raise ArrayError(f"{name}: a coordinate is NaN, infinite{beyond}; give (..., 3), x, y and z in mm")
    return points
