"""Oracle of tomography: voxel-driven back projection, and Joseph's projector with its exact adjoint, in fp64.

All functions take a ``gpuopt.tomo`` geometry and volume; images (z, y, x) or (y, x), projections (view, v, u) or
(view, u), of any real dtype. Both are 0 outside, and "bilinear" acts on arrays extended by these zeros. Meant for
volumes up to 64^3. They raise ParameterError for a geometry and a volume that do not belong together, ArrayError for
other shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.scans import Cone
from gpuopt.tomo.volume import Volume

Float64Array = NDArray[np.float64]

WEIGHTS = ("adjoint", "none", "fdk")

_SAMPLES_AT_ONCE = 2**15  # 256 kB an array
_EQUAL = (
    1e-5  # of a direction's components that differ by less the first is a ray's main axis: rounding must not choose
)


def back_project(geometry: Geometry, volume: Volume, projections: ArrayLike, weight: str = "adjoint") -> Float64Array:
    """Sum over the views of W bilinear(projection) where each voxel's centre falls.

    ``weight`` is W: "adjoint", with which this approximates the transpose of any projector; "none", 1; "fdk", what a
    filtered view needs (``Cone.fdk_weight``; 1 of parallel beams).
    """
    p = _projections(geometry, volume, projections)
    return back_project_at(geometry, volume, p, volume.points(), weight)


def back_project_at(
    geometry: Geometry, volume: Volume, projections: np.ndarray, points: Float64Array, weight: str = "adjoint"
) -> Float64Array:
    """The same at ``points`` (..., 3) in mm alone, from projections (views, rows, columns) of any real dtype."""
    if weight not in WEIGHTS:
        raise ParameterError(f"weight: {weight!r} is not known; give one of {', '.join(map(repr, WEIGHTS))}")
    image = np.zeros(points.shape[:-1])
    for view in range(geometry.views):
        at = geometry.project(points, view)
        value = bilinear(projections[view].astype(np.float64), at.row, at.column)
        image += np.where(at.density > 0, value, 0) * weights_at(geometry, volume, points, view, weight)
    return image


def weights_at(geometry: Geometry, volume: Volume, points: Float64Array, view: int, weight: str) -> Float64Array:
    """W of a view at ``points`` (..., 3)."""
    if weight == "adjoint":
        density: Float64Array = geometry.project(points, view).density
        return volume.cell * density
    if weight == "fdk" and isinstance(geometry, Cone):
        return geometry.fdk_weight(points, view)
    return np.ones(points.shape[:-1])


def bilinear(view: Float64Array, row: Float64Array, column: Float64Array) -> Float64Array:
    """``view`` (rows, columns) between its pixels, and between its edge and the zeros around it."""
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
    """Line integrals by Joseph's method: of each plane of voxels across a ray's main axis the bilinear value, times the
    ray's length from one plane to the next.

    The main axis is the one along which a ray passes most voxels; of equal ones x before y before z.
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


def joseph_rows(geometry: Geometry, volume: Volume, view: int) -> Float64Array:
    """Rows (pixels, voxels) of the matrix of :func:`joseph` that belong to a view, both flattened; for small ones."""
    geometry.check(volume)
    matrix = np.zeros((geometry.detector.rows * geometry.detector.columns, volume.size))
    for taps in _taps(geometry, volume, view):
        np.add.at(matrix, (taps.rays[:, np.newaxis], taps.voxel), taps.weight)
    return matrix


class _Taps(NamedTuple):
    """What some ``rays`` (n,) of a view read: of each plane one corner's ``voxel`` and ``weight``, (n, planes)."""

    rays: NDArray[np.intp]
    voxel: NDArray[np.intp]
    weight: Float64Array


def _taps(geometry: Geometry, volume: Volume, view: int) -> Iterator[_Taps]:
    """All that a view's rays read; a ray comes up to four times, once for each corner."""
    shape = [1] * (3 - volume.ndim) + list(volume.shape)
    nx, ny, nz = shape[::-1]
    count, stride = (nx, ny, nz), (1, nx, nx * ny)
    size = np.diag(volume.affine)[:3]
    origin, direction = (vectors.reshape(-1, 3) for vectors in np.broadcast_arrays(*geometry.rays(view)))
    # In voxels a ray is start + length * slope, its length still in mm.
    start = (origin - volume.affine[:3, 3]) / size
    slope = direction / size
    steep = np.abs(slope[:, : volume.ndim])
    # x beside both others, then y beside z, as kernels ask.
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
    """Offsets and weights of the two voxels around places along an axis; of one outside 0 and 0."""
    place = np.clip(place, -1, count)  # beyond, both lie outside
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
