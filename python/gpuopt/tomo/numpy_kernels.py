"""The projections of :class:`gpuopt.tomo.NumpyProjector` in plain NumPy and fp64, for volumes up to 64^3.

Back projection goes voxel by voxel; forward projection is Joseph's method, with its exact adjoint. Images are (z, y, x)
or (y, x), projections (view, v, u) or (view, u), of any real dtype. Both count as 0 outside, and bilinear interpolation
reads these zeros. Every function raises ParameterError where geometry and volume do not belong together, and ArrayError
for arrays of other shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.operators import WEIGHTS
from gpuopt.tomo.scans import Cone
from gpuopt.tomo.volume import Volume

_SAMPLES_AT_ONCE = 2**15  # 256 kB an array
# Components of a direction that differ by less count as equal, and the first of them is the main axis: else rounding
# would choose it, on a device another one than here.
_EQUAL = 1e-5


def back_project(geometry: Geometry, volume: Volume, projections: ArrayLike, weight: str = "adjoint") -> Float64Array:
    """At each voxel's centre, the sum over the views of W times the projection's value there, bilinearly interpolated.

    ``weight`` says what W is: "adjoint" approximates the transpose of a projector; "none" is 1; "fdk" is the weight of
    a filtered view (``Cone.fdk_weight``; 1 unless the geometry is a cone on a circle or a helix).
    """
    if weight not in WEIGHTS:
        raise ParameterError(f"weight: {weight!r} is not known; give one of {', '.join(map(repr, WEIGHTS))}")
    p, points = _projections(geometry, volume, projections), volume.points()
    image = np.zeros(volume.shape)
    for view in range(geometry.views):
        at = geometry.project(points, view)
        with np.errstate(over="ignore", invalid="ignore"):  # of what a filter made too large
            value = np.where(at.density > 0, bilinear(p[view], np.asarray(at.row), np.asarray(at.column)), 0)
            if weight == "adjoint":
                value *= volume.cell * at.density
            elif weight == "fdk" and isinstance(geometry, Cone):
                value *= geometry.fdk_weight(points, view)
            image += value
    return image


def bilinear(view: Float64Array, row: Float64Array, column: Float64Array) -> Float64Array:
    """Values of ``view`` (rows, columns) at real indices: between its pixels, or between its edge and the zeros
    around it."""
    rows, columns = view.shape
    padded = np.pad(view, 1)
    row, column = np.clip(row, -1, rows), np.clip(column, -1, columns)
    i, j = np.minimum(np.floor(row), rows - 1), np.minimum(np.floor(column), columns - 1)
    down, right = row - i, column - j
    i, j = i.astype(int) + 1, j.astype(int) + 1
    upper = (1 - right) * padded[i, j] + right * padded[i, j + 1]
    lower = (1 - right) * padded[i + 1, j] + right * padded[i + 1, j + 1]
    value: Float64Array = (1 - down) * upper + down * lower
    return value


def joseph(geometry: Geometry, volume: Volume, image: ArrayLike) -> Float64Array:
    """Line integrals by Joseph's method. A ray's main axis is the one along which it passes most voxels; of equal ones
    x comes before y, and y before z. In each plane of voxels across that axis the image is interpolated bilinearly, and
    the sum is multiplied by the ray's length from one plane to the next.
    """
    voxels = _image(geometry, volume, image)
    projections = np.zeros((geometry.views, geometry.detector.rows * geometry.detector.columns))
    for view in range(geometry.views):
        for taps in _taps(geometry, volume, view):
            projections[view, taps.rays] += (taps.weight * voxels[taps.voxel]).sum(axis=1)
    return projections.reshape(geometry.shape)


def joseph_adjoint(geometry: Geometry, volume: Volume, projections: ArrayLike) -> Float64Array:
    """The transpose of :func:`joseph`: the same weights, scattered into the voxels."""
    p = _projections(geometry, volume, projections).reshape(geometry.views, -1)
    image = np.zeros(volume.size)
    for view in range(geometry.views):
        for taps in _taps(geometry, volume, view):
            np.add.at(image, taps.voxel, taps.weight * p[view, taps.rays, np.newaxis])
    return image.reshape(volume.shape)


class _Taps(NamedTuple):
    """What some ``rays`` (n,) of a view read: in each plane one of the four voxels around the ray, by its flat index
    ``voxel`` and its ``weight``, both (n, planes)."""

    rays: NDArray[np.intp]
    voxel: NDArray[np.intp]
    weight: Float64Array


def _taps(geometry: Geometry, volume: Volume, view: int) -> Iterator[_Taps]:
    """All that a view's rays read. Every ray comes four times, once for each of the voxels around it in a plane."""
    shape = [1] * (3 - volume.ndim) + list(volume.shape)
    nx, ny, nz = shape[::-1]
    count, stride = (nx, ny, nz), (1, nx, nx * ny)
    size = np.diag(volume.affine)[:3]
    origin, direction = (vectors.reshape(-1, 3) for vectors in np.broadcast_arrays(*geometry.rays(view)))
    # A point of a ray is start + length * slope, in voxels, at a length in mm.
    start = (origin - volume.affine[:3, 3]) / size
    slope = direction / size
    steep = np.abs(slope[:, : volume.ndim])
    # The kernels choose in the same order: first x or not, then y or z.
    main = np.where(steep[:, 0] >= (1 - _EQUAL) * steep[:, 1:].max(axis=1), 0, 1)
    if volume.ndim == 3:
        main[(main == 1) & (steep[:, 1] < (1 - _EQUAL) * steep[:, 2])] = 2
    for axis in range(volume.ndim):
        rays = np.flatnonzero(main == axis)
        step = max(1, _SAMPLES_AT_ONCE // count[axis])
        for first in range(0, len(rays), step):
            some = rays[first : first + step]
            s, d = start[some, :, np.newaxis], slope[some, :, np.newaxis]
            plane = np.arange(count[axis])
            length = (plane - s[:, axis]) / d[:, axis]
            b, c = (
                _neighbours(s[:, other] + length * d[:, other], count[other], stride[other])
                for other in range(3)
                if other != axis
            )
            between = 1 / np.abs(d[:, axis])
            for at_b, weight_b in b:
                for at_c, weight_c in c:
                    yield _Taps(some, plane * stride[axis] + at_b + at_c, between * weight_b * weight_c)


def _neighbours(place: Float64Array, count: int, stride: int) -> list[tuple[NDArray[np.intp], Float64Array]]:
    """Offsets and weights of the two voxels around places along an axis; both are 0 for a voxel outside."""
    place = np.clip(place, -1, count)  # farther out, both voxels lie outside as well
    low = np.floor(place).astype(np.intp)
    above = place - low
    found = []
    for index, weight in ((low, 1 - above), (low + 1, above)):
        inside = (index >= 0) & (index < count)
        found.append((np.where(inside, index * stride, 0), np.where(inside, weight, 0)))
    return found


def _image(geometry: Geometry, volume: Volume, image: ArrayLike) -> Float64Array:
    geometry.check(volume)
    array = np.asarray(image, dtype=np.float64)
    checks.shape("image", array, volume.shape, checks.IMAGE_AXES[volume.ndim], "the volume")
    return array.ravel()


def _projections(geometry: Geometry, volume: Volume, projections: ArrayLike) -> Float64Array:
    """(views, rows, columns), in 2D of one row."""
    geometry.check(volume)
    array = np.asarray(projections, dtype=np.float64)
    checks.shape("projections", array, geometry.shape, checks.DATA_AXES[volume.ndim], "the geometry")
    return array.reshape(geometry.views, geometry.detector.rows, geometry.detector.columns)
