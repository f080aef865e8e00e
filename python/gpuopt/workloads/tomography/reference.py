"""The oracle of tomography: voxel-driven back projection, and Joseph's projector with its exact adjoint, in fp64.

Scans and grids are those of ``reference_scans.py``. Images are (z, y, x) or (y, x), projections (view, v, u) or
(view, u); both count as 0 outside, and bilinear interpolation reads these zeros. Loops over views and planes: for
volumes up to 64^3, or for some points of larger ones. Raises ArrayError for arrays of other shapes, ParameterError for
unknown weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuopt._core import ArrayError, ParameterError
from gpuopt.workloads.tomography.reference_scans import Float64Array, Grid, Scan

WEIGHTS = ("adjoint", "none", "fdk")

# Components of a direction count as equal where they differ by less than this part: rounding must not choose a ray's
# main axis, on a device another one than here.
EQUAL = 1e-5


class Places(NamedTuple):
    """Where points fall on the detector: ``row`` and ``column`` as real indices, pixel centres at whole numbers; and
    ``density``, how many rays pass through a mm^2 (of a slice: a mm) across them there, 0 where no pixel can see."""

    row: Float64Array
    column: Float64Array
    density: Float64Array


def project(scan: Scan, view: int, points: Float64Array) -> Places:
    """Where ``points`` (..., 3) fall on the detector of a view: where their ray meets its surface."""
    source, centre, u, v = scan.source[view], scan.centre[view], scan.u[view], scan.v[view]
    if scan.parallel:
        start, beam = points, np.broadcast_to(source, points.shape)
    else:
        start, beam = source, points - source
    if scan.radius is None:
        # The ray start + k beam meets the plane centre + column u + row v.
        normal = np.cross(u, v)
        k = (centre - start) @ normal / (beam @ normal)
        hit = start + k[..., np.newaxis] * beam - centre
        # A vector across v, and one across u, both in the plane.
        across_v, across_u = np.cross(v, normal), np.cross(normal, u)
        column, row = hit @ across_v / (u @ across_v), hit @ across_u / (v @ across_u)
        seen = np.full(k.shape, True) if scan.parallel else k > 0
        # Pixels of the plane in a mm^2 across the ray: 1 / (area of a pixel x cosine of the ray and the normal).
        density = np.linalg.norm(beam, axis=-1) / np.abs(beam @ normal)
    else:
        k, row, column, density, seen = _on_cylinder(scan.radius, centre, u, v, source, beam)
    if not scan.parallel:
        # Rays that are k times as far apart at the detector as at the point, in each direction across them.
        density = density * (k if scan.plane else k**2)
    middle_row, middle_column = (scan.rows - 1) / 2, (scan.columns - 1) / 2
    return Places(row + middle_row, column + middle_column, np.where(seen, density, 0.0))


def _on_cylinder(
    radius: float, centre: Float64Array, u: Float64Array, v: Float64Array, source: Float64Array, beam: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array, NDArray[np.bool_]]:
    """Where rays source + k beam meet the hollow side of a cylinder: k, row and column from the detector's middle, the
    density of pixels across the ray at the detector, and whether they meet it."""
    du, dv = np.linalg.norm(u), np.linalg.norm(v)
    # Coordinates from the detector's middle: along u, towards the cylinder's axis, along v.
    side, up = u / du, v / dv
    axes = np.stack([side, np.cross(side, up), up], axis=1)
    source_side, source_in, source_up = (source - centre) @ axes
    beam_side, beam_in, beam_up = np.moveaxis(beam @ axes, -1, 0)
    # The cylinder side^2 + (in - radius)^2 = radius^2 makes a k^2 + 2 b k + c = 0; its hollow side is the larger root.
    a = beam_side**2 + beam_in**2
    b = source_side * beam_side + (source_in - radius) * beam_in
    c = source_side**2 + source_in * (source_in - 2 * radius)
    square = b**2 - a * c
    root = np.sqrt(np.maximum(square, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        k = np.where(b > 0, -c / (b + root), (root - b) / a)  # two forms of one root: the one that does not cancel
        hit_side, hit_in = source_side + k * beam_side, source_in + k * beam_in
        row = (source_up + k * beam_up) / dv
        column = radius * np.arctan2(hit_side, radius - hit_in) / du
        outwards = (hit_side * beam_side + (hit_in - radius) * beam_in) / radius
        density = np.linalg.norm(beam, axis=-1) / (outwards * du * dv)
    return k, row, column, density, (square > 0) & (k > 0)


def pixels(scan: Scan, view: int) -> Float64Array:
    """The centres of a view's pixels, (rows, columns, 3)."""
    return pixels_at(scan, view, np.arange(scan.rows)[:, np.newaxis], np.arange(scan.columns))


def pixels_at(scan: Scan, view: int, row: ArrayLike, column: ArrayLike) -> Float64Array:
    """The centres of some pixels, (..., 3), by their indices, which are broadcast."""
    u, v = scan.u[view], scan.v[view]
    j = np.asarray(column)[..., np.newaxis] - (scan.columns - 1) / 2
    i = np.asarray(row)[..., np.newaxis] - (scan.rows - 1) / 2
    if scan.radius is None:
        return scan.centre[view] + j * u + i * v
    du = np.linalg.norm(u)
    inwards = np.cross(u, v) / (du * np.linalg.norm(v))
    angle = j * du / scan.radius
    # radius (1 - cos angle) towards the axis, in a form that keeps its digits where the radius is large.
    arc = scan.radius * (np.sin(angle) * u / du + 2 * np.sin(angle / 2) ** 2 * inwards)
    return scan.centre[view] + arc + i * v


def rays(scan: Scan, view: int, only: NDArray[np.intp] | None = None) -> tuple[Float64Array, Float64Array]:
    """A point on each pixel's ray, and its direction of length 1, from the source to the pixel; both (pixels, 3).
    ``only``: of these pixels, by flat index."""
    index = np.arange(scan.rows * scan.columns) if only is None else only
    ends = pixels_at(scan, view, *np.divmod(index, scan.columns))
    source = np.broadcast_to(scan.source[view], ends.shape)
    start, direction = (ends, source) if scan.parallel else (source, ends - source)
    return start, direction / np.linalg.norm(direction, axis=1, keepdims=True)


def back_project(scan: Scan, grid: Grid, projections: ArrayLike, weight: str = "adjoint") -> Float64Array:
    """At each voxel's centre, the sum over the views of W times the projection's value there, bilinearly interpolated.

    ``weight`` says what W is: "adjoint", which approximates the transpose of a projector, the volume of a voxel times
    the density of rays; "none", 1; "fdk", that of a filtered view: (R / (R - r))^2 of a flat detector and 1 / L^2 of a
    curved one, where the source circles z, else 1.
    """
    points = grid.centres(np.arange(np.prod(grid.shape)))
    p = _reshaped("projections", projections, scan.shape, (scan.views, scan.rows, scan.columns))
    return back_project_at(scan, grid, p, points, weight).reshape(grid.shape)


def back_project_at(
    scan: Scan, grid: Grid, projections: np.ndarray, points: Float64Array, weight: str = "adjoint"
) -> Float64Array:
    """The same at ``points`` (..., 3) alone, from projections (views, rows, columns) of any real dtype."""
    if weight not in WEIGHTS:
        raise ParameterError(f"weight: {weight!r} is not known; give one of {', '.join(map(repr, WEIGHTS))}")
    image = np.zeros(points.shape[:-1])
    for view in range(scan.views):
        at = project(scan, view, points)
        value = bilinear(projections[view].astype(np.float64), at.row, at.column)
        image += np.where(at.density > 0, value * weights_at(scan, grid, points, view, weight), 0.0)
    return image


def weights_at(scan: Scan, grid: Grid, points: Float64Array, view: int, weight: str) -> Float64Array:
    """W of a view at ``points`` (..., 3)."""
    if weight == "adjoint":
        return grid.cell * project(scan, view, points).density
    if weight == "fdk" and scan.sod is not None:
        source = scan.source[view]
        towards_axis = np.array([-source[0], -source[1], 0.0]) / scan.sod
        beam = points - source
        if scan.radius is None:
            found: Float64Array = (scan.sod / (beam @ towards_axis)) ** 2
            return found
        return np.asarray(1 / (beam[..., 0] ** 2 + beam[..., 1] ** 2))
    return np.ones(points.shape[:-1])


def bilinear(view: Float64Array, row: ArrayLike, column: ArrayLike) -> Float64Array:
    """Values of ``view`` (rows, columns) at real indices: between its pixels, or between its edge and the zeros
    around it."""
    rows, columns = view.shape
    # Two pixels beyond the edge everything is 0, as it is farther out.
    row, column = np.clip(row, -2, rows + 1), np.clip(column, -2, columns + 1)
    value = np.zeros(np.shape(row))
    for i in (np.floor(row), np.floor(row) + 1):
        for j in (np.floor(column), np.floor(column) + 1):
            inside = (i >= 0) & (i < rows) & (j >= 0) & (j < columns)
            pixel = view[np.where(inside, i, 0).astype(int), np.where(inside, j, 0).astype(int)]
            value += np.where(inside, (1 - np.abs(row - i)) * (1 - np.abs(column - j)) * pixel, 0.0)
    return value


def joseph(scan: Scan, grid: Grid, image: ArrayLike) -> Float64Array:
    """Line integrals by Joseph's method. A ray's main axis is the one along which it passes most voxels; of equal ones
    x comes before y, and y before z. In each plane of voxels across that axis the image is interpolated bilinearly, and
    the sum is multiplied by the ray's length from one plane to the next."""
    voxels = _reshaped("image", image, grid.shape, (-1,))
    projections = np.zeros((scan.views, scan.rows * scan.columns))
    for view in range(scan.views):
        for ray, voxel, weight in _samples(scan, grid, view):
            projections[view, ray] += weight * voxels[voxel]
    return projections.reshape(scan.shape)


def joseph_at(scan: Scan, grid: Grid, image: np.ndarray, where: NDArray[np.intp]) -> Float64Array:
    """The same for some pixels, by flat index over all views, from an image of any real dtype."""
    voxels, of_view = image.reshape(-1), where // (scan.rows * scan.columns)
    found = np.zeros(len(where))
    for view in np.unique(of_view):
        mine = np.flatnonzero(of_view == view)
        for ray, voxel, weight in _samples(scan, grid, int(view), where[mine] % (scan.rows * scan.columns)):
            found[mine[ray]] += weight * voxels[voxel].astype(np.float64)
    return found


def joseph_adjoint(scan: Scan, grid: Grid, projections: ArrayLike) -> Float64Array:
    """The transpose of :func:`joseph`: the same weights, from the rays back to the voxels."""
    p = _reshaped("projections", projections, scan.shape, (scan.views, -1))
    image = np.zeros(np.prod(grid.shape))
    for view in range(scan.views):
        for ray, voxel, weight in _samples(scan, grid, view):
            np.add.at(image, voxel, weight * p[view, ray])
    return image.reshape(grid.shape)


def joseph_adjoint_at(
    scan: Scan, grid: Grid, projections: np.ndarray, where: NDArray[np.intp]
) -> tuple[Float64Array, Float64Array]:
    """The same for some voxels, by flat index; and for each the sum of the magnitudes of all rays that pass within a
    voxel of it, times their length from plane to plane: what an error of a place counts for. The rays of a voxel are
    found in the box around its neighbours on the detector."""
    counts, sizes, middle = grid.along_xyz()
    index = np.stack([where % counts[0], where // counts[0] % counts[1], where // (counts[0] * counts[1])], axis=1)
    corners = np.array(np.meshgrid(*([-1.01, 1.01] if n > 1 or axis < 2 else [0.0] for axis, n in enumerate(counts))))
    around = (corners.reshape(3, -1).T + (index - (np.array(counts) - 1) / 2)[:, np.newaxis]) * sizes + middle
    found, near = np.zeros(len(where)), np.zeros(len(where))
    for view in range(scan.views):
        at = project(scan, view, around)
        low = [np.floor(place.min(axis=1)).astype(int) - 1 for place in (at.row, at.column)]
        high = [np.ceil(place.max(axis=1)).astype(int) + 1 for place in (at.row, at.column)]
        box = [np.arange(int((high[axis] - low[axis]).max()) + 1) for axis in (0, 1)]
        row = low[0][:, np.newaxis, np.newaxis] + box[0][:, np.newaxis]
        column = low[1][:, np.newaxis, np.newaxis] + box[1]
        seen = (row >= 0) & (row < scan.rows) & (column >= 0) & (column < scan.columns)
        voxel, pixel = np.nonzero(seen)[0], (row * scan.columns + column)[seen]
        start, direction = rays(scan, view, pixel)
        start, slope = (start - middle) / sizes + (np.array(counts) - 1) / 2, direction / sizes
        main = _main_axes(slope)[:, np.newaxis]
        ahead = np.take_along_axis(slope, main, axis=1)
        length = (np.take_along_axis(index[voxel], main, axis=1) - np.take_along_axis(start, main, axis=1)) / ahead
        apart = np.abs(start + length * slope - index[voxel])
        np.put_along_axis(apart, main, 0.0, axis=1)
        value = projections.reshape(scan.views, -1)[view, pixel].astype(np.float64) / np.abs(ahead[:, 0])
        np.add.at(found, voxel, value * np.prod(np.maximum(1 - apart, 0.0), axis=1))
        np.add.at(near, voxel, np.abs(value) * (apart < 1.001).all(axis=1))
    return found, near


def joseph_rows(scan: Scan, grid: Grid, view: int) -> Float64Array:
    """The rows (pixels, voxels) of the matrix of :func:`joseph` that belong to a view; for small scans."""
    matrix = np.zeros((scan.rows * scan.columns, int(np.prod(grid.shape))))
    for ray, voxel, weight in _samples(scan, grid, view):
        np.add.at(matrix, (ray, voxel), weight)
    return matrix


def _main_axes(slope: Float64Array) -> NDArray[np.intp]:
    """Of directions in voxels, (rays, 3), the axis along which each passes most."""
    steep_x, steep_y, steep_z = np.abs(slope).T
    x_first = steep_x >= (1 - EQUAL) * np.maximum(steep_y, steep_z)
    y_first = steep_y >= (1 - EQUAL) * steep_z
    return np.where(x_first, 0, np.where(y_first, 1, 2))


def _samples(
    scan: Scan, grid: Grid, view: int, only: NDArray[np.intp] | None = None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Float64Array]]:
    """All that a view's rays read, or those of ``only`` some pixels, a plane of voxels and one of the four voxels
    around the rays at a time: rays (those of ``only`` by their place there) and voxels by flat index, and the weights
    in mm."""
    counts, sizes, middle = grid.along_xyz()
    start, direction = rays(scan, view, only)
    # In voxels, from the centre of the first one: a ray is at start + length * slope, its length in mm.
    start = (start - middle) / sizes + (np.array(counts) - 1) / 2
    slope = direction / sizes
    main = _main_axes(slope)
    for axis in range(3):
        ray = np.flatnonzero(main == axis)
        step = 1 / np.abs(slope[ray, axis])
        b, c = (other for other in range(3) if other != axis)
        for plane in range(counts[axis]):
            length = (plane - start[ray, axis]) / slope[ray, axis]
            place_b = start[ray, b] + length * slope[ray, b]
            place_c = start[ray, c] + length * slope[ray, c]
            for at_b in (np.floor(place_b), np.floor(place_b) + 1):
                for at_c in (np.floor(place_c), np.floor(place_c) + 1):
                    inside = (at_b >= 0) & (at_b < counts[b]) & (at_c >= 0) & (at_c < counts[c])
                    weight = step * (1 - np.abs(place_b - at_b)) * (1 - np.abs(place_c - at_c))
                    index = np.empty((3, int(inside.sum())), dtype=np.intp)
                    index[axis], index[b], index[c] = plane, at_b[inside], at_c[inside]
                    voxel = index[0] + counts[0] * (index[1] + counts[1] * index[2])
                    yield ray[inside], voxel, weight[inside]


def _reshaped(name: str, given: ArrayLike, expected: tuple[int, ...], shape: tuple[int, ...]) -> Float64Array:
    array = np.asarray(given, dtype=np.float64)
    if array.shape != expected:
        raise ArrayError(f"{name}: its shape is {array.shape}; give {expected}")
    return array.reshape(shape)
