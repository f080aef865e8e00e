"""Scans and grids of the oracle (``reference.py``), from what scanners and ASTRA's documents publish about them.

Plain NumPy, and nothing of ``gpuopt.tomo``: an error in the geometry of either shows as a difference between the two.

Lengths in mm, angles in radians; a right-handed frame with its origin on the rotation axis z. At the view angle t,
theta = (sin t, -cos t, 0) points from the axis to the source, e = (cos t, sin t, 0) is the direction in which columns
count up, and z that of rows. Counts, pitches and offsets of a detector are pairs (v, u): rows first, then columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float64Array = NDArray[np.float64]

Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Grid:
    """Voxels: ``shape`` (z, y, x), or (y, x) of a slice at z = 0; ``voxel`` sizes and the grid's ``centre`` in mm, in
    the order of the shape."""

    shape: tuple[int, ...]
    voxel: tuple[float, ...]
    centre: tuple[float, ...]

    @property
    def cell(self) -> float:
        """The volume of a voxel in mm^3, of a slice its area in mm^2."""
        return float(np.prod(self.voxel))

    def along_xyz(self) -> tuple[list[int], Float64Array, Float64Array]:
        """Counts, sizes and centre in the order x, y, z; a slice is one voxel of 1 mm along z."""
        flat = len(self.shape) == 2
        counts = [*self.shape[::-1], *([1] if flat else [])]
        sizes = [*self.voxel[::-1], *([1.0] if flat else [])]
        middle = [*self.centre[::-1], *([0.0] if flat else [])]
        return counts, np.array(sizes), np.array(middle)

    def centres(self, voxels: ArrayLike) -> Float64Array:
        """Where the centres of ``voxels`` lie, given by flat index (n,): (n, 3) as (x, y, z)."""
        counts, sizes, middle = self.along_xyz()
        rest = np.asarray(voxels)
        index = np.stack([rest % counts[0], rest // counts[0] % counts[1], rest // (counts[0] * counts[1])], axis=-1)
        return middle + (index - (np.array(counts) - 1) / 2) * sizes


@dataclass(frozen=True)
class Scan:
    """Where each view's rays start and where its pixels lie; arrays are (views, 3)."""

    rows: int
    columns: int
    source: Float64Array
    """The source; of parallel beams the direction of the rays."""
    centre: Float64Array
    """The middle of the detector, on its surface."""
    u: Float64Array
    """The step from a column to the next; of a curved detector a tangent at the middle, as long as the arc."""
    v: Float64Array
    """The step from a row to the next."""
    parallel: bool = False
    radius: float | None = None
    """Of a curved detector: a cylinder whose axis is parallel to v and lies from the centre on the side of u x v."""
    sod: float | None = None
    """Of a source on a circle or a helix, its distance from the axis z: FDK's weights need it."""
    plane: bool = False
    """Whether it is a scan of a slice: one row, in the plane z = 0."""

    @property
    def views(self) -> int:
        return len(self.source)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the projections."""
        return (self.views, self.columns) if self.plane else (self.views, self.rows, self.columns)


def parallel_scan(
    angles: ArrayLike,
    det: tuple[int, int],
    pixel: tuple[float, float],
    offset: tuple[float, float] = (0.0, 0.0),
    *,
    plane: bool = False,
) -> Scan:
    """Parallel beams along theta; pixels at u e + v z. Of a ``plane``, det = (1, columns) and pixel = (1, du)."""
    (rows, columns), (dv, du), (v_offset, u_offset) = det, pixel, offset
    views = []
    for t in np.asarray(angles, dtype=float):
        theta, e = _theta(t), _e(t)
        views.append([theta, u_offset * e + v_offset * Z, du * e, dv * Z])
    source, centre, u, v = np.array(views).swapaxes(0, 1)
    return Scan(rows, columns, source, centre, u, v, parallel=True, plane=plane)


def cone_scan(
    angles: ArrayLike,
    sod: float,
    sdd: float,
    det: tuple[int, int],
    pixel: tuple[float, float],
    offset: tuple[float, float] = (0.0, 0.0),
    *,
    z0: float = 0.0,
    pitch: float = 0.0,
    t_ref: float = 0.0,
    radius: float | None = None,
    plane: bool = False,
) -> Scan:
    """A source at ``sod`` from the axis that rises ``pitch`` mm a turn (0: a circle) and is at height ``z0`` at the
    angle ``t_ref``. The detector, at ``sdd`` from the source, rises with it.

    A flat detector has its pixels at (sod - sdd) theta + u e + v z above the source's height. One of a ``radius`` has
    them on the cylinder of that radius through (sod - sdd) theta, whose axis is parallel to z and lies towards the
    source; u is the length along the arc.
    """
    (rows, columns), (dv, du), (v_offset, u_offset) = det, pixel, offset
    views = []
    for t in np.asarray(angles, dtype=float):
        theta, e = _theta(t), _e(t)
        height = z0 + pitch * (t - t_ref) / (2 * np.pi)
        if radius is None:
            centre, tangent = (sod - sdd) * theta + u_offset * e, e
        else:
            # The angle around the cylinder's axis at which the middle lies. 1 - cos g = 2 sin^2(g / 2) keeps its
            # digits where the radius is large.
            g = u_offset / radius
            centre = (sod - sdd + radius * 2 * np.sin(g / 2) ** 2) * theta + radius * np.sin(g) * e
            tangent = np.sin(g) * theta + np.cos(g) * e
        views.append([sod * theta + height * Z, centre + (height + v_offset) * Z, du * tangent, dv * Z])
    source, centre, u, v = np.array(views).swapaxes(0, 1)
    return Scan(rows, columns, source, centre, u, v, radius=radius, sod=sod, plane=plane)


def astra_scan(kind: str, vectors: ArrayLike, det: tuple[int, int]) -> Scan:
    """A scan from ASTRA's rows, one a view. "cone_vec": source, detector's centre, the vectors from pixel (0, 0) to (0,
    1) and from (0, 0) to (1, 0). "parallel3d_vec": the direction of the rays in place of the source. "cyl_cone_vec": as
    "cone_vec", the third vector a tangent as long as a pixel's arc, and the radius of the cylinder last, the same in
    every row."""
    table = np.asarray(vectors, dtype=float)
    source, centre, u, v = (table[:, first : first + 3] for first in (0, 3, 6, 9))
    radius = float(table[0, 12]) if kind == "cyl_cone_vec" else None
    return Scan(*det, source, centre, u, v, parallel=kind == "parallel3d_vec", radius=radius)


def _theta(t: float) -> Float64Array:
    return np.array([np.sin(t), -np.cos(t), 0.0])


def _e(t: float) -> Float64Array:
    return np.array([np.cos(t), np.sin(t), 0.0])
