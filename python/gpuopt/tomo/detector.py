"""A detector, and what a view is made of: free vectors, rays, and where points fall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gpuopt._core import ParameterError
from gpuopt.checked import checked, real
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.kinds import Counts, Indices, Lengths

Places: TypeAlias = np.float64 | Float64Array
"""Real numbers: an array, or one of NumPy's numbers where one point was given."""


@checked
@dataclass(frozen=True)
class Detector:
    """Rows (along v) and columns (along u), their pitches in mm, and the offsets (v, u) of the detector's middle.

    The index of a coordinate is (coordinate - offset) / pitch + (n - 1) / 2. On a curved detector u is the length along
    the arc. A 2D scan has one row at v = 0, with a pitch of 1 that cancels out. :meth:`of` checks its numbers.

    Examples
    --------
    >>> detector = gt.Detector.of(3, det=(2, 4), pixel=(1.0, 0.5), offset=0.0)
    >>> detector
    Detector(rows=2, columns=4, dv=1.0, du=0.5, v_offset=0.0, u_offset=0.0)
    >>> detector.u
    array([-0.75, -0.25,  0.25,  0.75])
    >>> float(detector.column(0.25))
    2.0
    >>> float(detector.row(0.5)), detector.v, detector.reach
    (1.0, array([-0.5,  0.5]), 1.0)
    >>> detector.refined(2, dimensions=3).du
    0.25
    """

    rows: int
    columns: int
    dv: float
    du: float
    v_offset: float = 0.0
    u_offset: float = 0.0

    @classmethod
    def of(cls, dimensions: int, det: Counts, pixel: Lengths, offset: Lengths) -> Detector:
        """Of a scan of 2 or 3 ``dimensions``. Counts, pitches and offsets (mm) are pairs (v, u), or one number for both
        axes; in 2D they are of u. Raises ParameterError."""
        if dimensions not in checks.DATA_AXES:
            raise ParameterError(f"dimensions: {dimensions} are not offered; give 2 or 3")
        axes = checks.DATA_AXES[dimensions][1:]
        counts = [checks.count(*one, checks.MOST_CELLS) for one in checks.each("det", det, axes)]
        pitches = [checks.length(*one) for one in checks.each("pixel", pixel, axes)]
        offsets = [checks.place(*one) for one in checks.each("offset", offset, axes)]
        if dimensions == 2:
            return cls(1, counts[0], 1.0, pitches[0], 0.0, offsets[0])
        return cls(*counts, *pitches, *offsets)

    @property
    def v(self) -> Float64Array:
        """Coordinates of the rows (rows,), mm."""
        return checks.centres(self.rows, self.dv, self.v_offset)

    @property
    def u(self) -> Float64Array:
        """Coordinates of the columns (columns,), mm."""
        return checks.centres(self.columns, self.du, self.u_offset)

    @property
    def reach(self) -> float:
        """|u| of the edge farther from u = 0, mm."""
        return abs(self.u_offset) + self.columns * self.du / 2

    def row(self, v: ArrayLike) -> Places:
        """The index of the coordinate v in mm, as a real number. Raises ArrayError."""
        return (real("v", v, "mm") - self.v_offset) / self.dv + (self.rows - 1) / 2

    def column(self, u: ArrayLike) -> Places:
        """The index of the coordinate u in mm, as a real number. Raises ArrayError."""
        return (real("u", u, "mm") - self.u_offset) / self.du + (self.columns - 1) / 2

    def refined(self, times: int, dimensions: int) -> Detector:
        """The same area with ``times`` as many pixels along each axis. Raises ParameterError."""
        times = checks.count("times", times)
        rows, dv = (times * self.rows, self.dv / times) if dimensions == 3 else (self.rows, self.dv)
        checks.count("times: pixels along an axis", max(rows, times * self.columns), checks.MOST_CELLS)
        return replace(self, rows=rows, dv=dv, columns=times * self.columns, du=self.du / times)


class Frames(NamedTuple):
    """The views as free vectors, each (views, 3), float64, in mm. They determine every ray.

    ``source`` is where the source is, for parallel beams the direction towards it. ``centre`` is the middle of the
    detector, on its surface. ``column`` is the step from a column to the next, ``row`` that from a row to the next; on
    a curved detector ``column`` is a tangent at the centre, as long as the arc of one column.

    Examples
    --------
    >>> frames = gt.parallel2d([0.0, np.pi / 2], det=4, pixel=2.0).frames
    >>> frames.column.round(6)
    array([[2., 0., 0.],
           [0., 2., 0.]])
    >>> frames.at([1]).source.shape
    (1, 3)
    >>> frames.normals().round(6) + 0.0
    array([[ 0., -2.,  0.],
           [ 2.,  0.,  0.]])
    """

    source: Float64Array
    centre: Float64Array
    column: Float64Array
    row: Float64Array

    def normals(self) -> Float64Array:
        """column x row (views, 3), whose length is the area of a pixel in mm^2."""
        return np.cross(self.column, self.row)

    def at(self, index: Indices) -> Frames:
        """Some of the views: whole numbers in any order, a slice or a mask. Raises ParameterError."""
        found = checks.indices("index", index, len(self.source))
        return Frames(*(checks.frozen(vectors[found]) for vectors in self))


class Projection(NamedTuple):
    """Where points (..., 3) fall on the detector, ``row`` and ``column`` as real indices (...,); and the ``density`` of
    rays at each point: how many pass through a mm^2 (2D: a mm) perpendicular to them. The volume of a voxel times this
    density is the weight "adjoint" of a back projection."""

    row: Places
    column: Places
    density: Places


class Rays(NamedTuple):
    """The rays through the pixel centres of a view: a point ``origin`` on each, which broadcasts to the shape of
    ``direction`` (*pixels, 3), and their directions, of length 1. In mm."""

    origin: Float64Array
    direction: Float64Array
