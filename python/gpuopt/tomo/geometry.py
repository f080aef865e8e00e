"""What every scan is made of: a detector, and for each view where its rays start and where its pixels lie.

Coordinates are right-handed, in mm, with the origin on the rotation axis z. At the view angle t, theta = (sin t,
-cos t, 0) points to the source, e = (cos t, sin t, 0) is the direction of u, and v runs along z. A 2D scan is the slice
z = 0. Projections are (view, v, u), in 2D (view, u), and hold line integrals at pixel centres. Everything is fp64.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.detector import Detector, Frames, Projection, Rays
from gpuopt.tomo.kinds import Indices
from gpuopt.tomo.volume import Volume


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Geometry(ABC):
    """A scan: see :func:`parallel2d`, :func:`parallel3d`, :func:`fan`, :func:`circular`, :func:`helical`,
    :func:`from_vectors` and :func:`from_astra`, which make them. A value that never changes.

    Examples
    --------
    >>> scan = gt.fan(4, sod=50.0, sdd=100.0, det=8, pixel=2.0)
    >>> scan.shape, scan.parallel
    ((4, 8), False)
    >>> scan.subset([0, 2]).shape
    (2, 8)
    >>> float(scan.project(np.zeros(3), view=0).column)
    3.5
    >>> scan.views, scan.view_angles[:2].round(2), scan.view_indices([True, False, True, False])
    (4, array([0.  , 1.57]), array([0, 2]))
    >>> scan.refined(2).shape, scan.shifted(0, 1).detector.u_offset
    ((4, 16), 2.0)
    >>> scan.rays(0).direction.shape, scan.matrices().shape
    ((8, 3), (4, 3, 4))
    >>> scan.check(gt.Volume((16, 16)))  # an error where the volume does not suit the scan
    """

    detector: Detector
    dimensions: int
    """2 or 3."""

    @property
    @abstractmethod
    def parallel(self) -> bool:
        """Whether the rays of each view are parallel."""

    @property
    @abstractmethod
    def views(self) -> int:
        """How many views."""

    @property
    def radius(self) -> float | None:
        """The radius Rc of a curved detector in mm; None for a flat one."""
        return None

    @property
    @abstractmethod
    def frames(self) -> Frames:
        """The views as free vectors."""

    @abstractmethod
    def project(self, points: Float64Array, view: int) -> Projection:
        """Where ``points`` (..., 3), as (x, y, z) in mm, fall on the detector in a view. The density is 0 where no ray
        can reach it. Raises ArrayError, ParameterError."""

    @abstractmethod
    def _take(self, index: np.ndarray) -> Geometry: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the projections: (views, rows, columns), in 2D (views, columns)."""
        pixels = (self.detector.rows, self.detector.columns)
        return (self.views, *pixels[3 - self.dimensions :])

    @property
    def view_angles(self) -> Float64Array:
        """The view angles t (views,) in radians, from -pi to pi; of free vectors, those around z of the direction from
        the detector's middle to the source, which of a displaced detector are others than those of its scan."""
        return angles_around_z(self.frames.source)

    def refined(self, times: int) -> Geometry:
        """The same scan with ``times`` as many pixels along each axis, on the same area. Raises ParameterError."""
        return replace(self, detector=self.detector.refined(times, self.dimensions))

    def shifted(self, v: float, u: float) -> Geometry:
        """The same scan with its detector ``v`` rows and ``u`` columns further on; in 2D along u alone. Raises
        ParameterError."""
        d, (v, u) = self.detector, (checks.number("v", v, "rows"), checks.number("u", u, "columns"))
        v_offset = checks.place("v", d.v_offset + v * d.dv) if self.dimensions == 3 else d.v_offset
        return replace(self, detector=replace(d, v_offset=v_offset, u_offset=checks.place("u", d.u_offset + u * d.du)))

    def subset(self, views: Indices) -> Geometry:
        """The scan of some views: whole numbers in any order, a slice or a mask. Raises ParameterError."""
        return self._take(self.view_indices(views))

    def view_indices(self, views: Indices) -> np.ndarray:
        """The indices of some views, from a list, a slice or a mask that leaves at least one. Raises
        ParameterError."""
        return checks.indices("views", views, self.views)

    def rays(self, view: int) -> Rays:
        """The rays through the pixel centres of a view: (rows, columns, 3) in mm, in 2D (columns, 3). Raises
        ParameterError."""
        return self._rays(checks.view(view, self.views), slice(None), slice(None))

    def _rays(self, view: int, rows: slice, columns: slice) -> Rays:
        """Those of some pixels."""
        source, centre, column, row = (vectors[view][:, np.newaxis, np.newaxis] for vectors in self.frames)
        steps = checks.centres(self.detector.columns)[columns]
        if self.radius is None:
            along = steps * column
        else:
            pitch = math.sqrt((column**2).sum())
            normal = self.frames.normals()[view][:, np.newaxis, np.newaxis]
            normal = normal / math.sqrt((normal**2).sum())
            angle = steps * pitch / self.radius
            # 1 - cos(angle) as 2 sin^2(angle / 2), which keeps its digits where the radius is large.
            along = self.radius * (np.sin(angle) * column / pitch + 2 * np.sin(angle / 2) ** 2 * normal)
        across = checks.centres(self.detector.rows)[rows, np.newaxis] * row
        # The coordinates come first: sums over a first axis of 3 are several times faster than over a last one.
        pixels = centre + along + across
        if self.dimensions == 2:
            pixels, source = pixels[:, 0], source[:, 0]
        if self.parallel:
            direction = np.broadcast_to(-source / math.sqrt((source**2).sum()), pixels.shape)
            return Rays(np.moveaxis(pixels, 0, -1), np.moveaxis(direction, 0, -1))
        direction = pixels - source
        direction /= np.sqrt((direction**2).sum(axis=0))
        return Rays(self.frames.source[view], np.moveaxis(direction, 0, -1))

    def matrices(self, volume: Volume | None = None) -> Float64Array:
        """Projection matrices (views, 3, 4) of a flat detector: they take (x, y, z, 1) in mm to (w column, w row, w),
        where w is 1 / magnification, and 1 for parallel beams. With a volume they take voxel indices (x, y, z, 1)
        instead. Raises ParameterError for curved detectors."""
        if self.radius is not None:
            raise ParameterError("geometry: no 3x4 matrix describes a curved detector; use project or frames")
        source, centre, u, v = self.frames
        normal = np.cross(u, v)
        uu, vv, uv = _dot(u, u), _dot(v, v), _dot(u, v)
        determinant = uu * vv - uv**2
        middle = ((self.detector.columns - 1) / 2, (self.detector.rows - 1) / 2)
        found = np.zeros((self.views, 3, 4))
        if self.parallel:
            found[:, 2, 3] = 1
        else:
            found[:, 2, :3] = normal / _dot(centre - source, normal)
            found[:, 2, 3] = -_dot(source, found[:, 2, :3])[:, 0]
        for i, dual in enumerate(((vv * u - uv * v) / determinant, (uu * v - uv * u) / determinant)):
            if self.parallel:
                found[:, i, :3] = dual - _dot(dual, source) * normal / _dot(source, normal)
                found[:, i, 3] = middle[i] - _dot(found[:, i, :3], centre)[:, 0]
            else:
                found[:, i, :3] = dual
                found[:, i, 3] = -_dot(dual, source)[:, 0]
                found[:, i] += (_dot(dual, source - centre) + middle[i]) * found[:, 2]
        return found if volume is None else found @ volume.affine

    def to_astra(self) -> dict[str, Any]:
        """ASTRA's projection geometry as a dictionary: "cone_vec", "cyl_cone_vec" or "parallel3d_vec"; in 2D
        "fanflat_vec" or "parallel_vec", mirrored as :func:`from_astra` says. Raises ParameterError for arcs in 2D."""
        if self.dimensions == 2:
            if self.radius is not None:
                raise ParameterError("geometry: ASTRA has no curved detector in 2D; use a 3D scan of one row")
            kind = "parallel_vec" if self.parallel else "fanflat_vec"
            table = np.hstack([vectors[:, :2] * [1, -1] for vectors in self.frames[:3]])
            return {"type": kind, "DetectorCount": self.detector.columns, "Vectors": table}
        kind, columns = "parallel3d_vec" if self.parallel else "cone_vec", list(self.frames)
        if self.radius is not None:
            kind = "cyl_cone_vec"
            columns.append(np.full((self.views, 1), self.radius))
        return {
            "type": kind,
            "DetectorRowCount": self.detector.rows,
            "DetectorColCount": self.detector.columns,
            "Vectors": np.concatenate(columns, axis=1),
        }

    def check(self, volume: Volume) -> None:
        """Raises ParameterError where one of the scan and the volume is 2D and the other 3D, where a part of the volume
        lies behind the source in some view, or where their sizes are so unlike that fp32 cannot tell places apart."""
        if volume.ndim != self.dimensions:
            raise ParameterError(
                f"volume: it has {volume.ndim} axes, the geometry {self.dimensions}; give a shape "
                f"({', '.join(checks.IMAGE_AXES[self.dimensions])})"
            )
        if not self.parallel:
            self._check_ahead(volume)
        _check_sizes(self, volume)

    def _check_ahead(self, volume: Volume) -> None:
        source = self.frames.source
        ahead = np.einsum("vcx,vx->vc", volume.corners() - source[:, np.newaxis], self._forward())
        if (ahead > 0).all():
            return
        view = int(np.flatnonzero((ahead <= 0).any(axis=1))[0])
        place = "(" + ", ".join(f"{coordinate:.6g}" for coordinate in source[view]) + ") mm"
        if volume.contains(source[view]):
            raise ParameterError(f"volume: the source of view {view} at {place} lies inside it; make it smaller")
        raise ParameterError(
            f"volume: in view {view} it reaches behind the source at {place}; make it smaller, or move it"
        )

    def _forward(self) -> Float64Array:
        """Directions (views, 3) from the source: only what lies ahead in this direction can be seen."""
        normal = self.frames.normals()
        return normal * np.sign(_dot(self.frames.centre - self.frames.source, normal))

    def _kind(self) -> str:
        shape = "" if self.parallel else " flat," if self.radius is None else f" curved (radius {self.radius:g} mm),"
        d, views = self.detector, checks.counted(self.views, "view")
        columns = checks.counted(d.columns, "column")
        if self.dimensions == 2:
            return f"{views},{shape} {columns} of {d.du:g} mm"
        return f"{views},{shape} {checks.counted(d.rows, 'row')} x {columns} of {d.dv:g} x {d.du:g} mm"


def angles_around_z(towards: Float64Array) -> Float64Array:
    """The angles t of directions (n, 3) to a source."""
    return np.arctan2(towards[:, 0], -towards[:, 1])


def _dot(a: np.ndarray, b: np.ndarray) -> Float64Array:
    """Scalar products of the rows, (n, 1)."""
    found: Float64Array = (a * b).sum(axis=-1, keepdims=True)
    return found


_FARTHEST = 1e12  # voxels from the volume's middle to a source or a detector
_MOST_LOST = 1e-3  # of a voxel, that rays may be displaced by as places are rounded
_MOST_PIXELS = 1 << 18  # that a volume covers: places on the detector are then known to 1/64 of a pixel in fp32
_LEAST_PIXELS = 1e-6  # that a voxel covers
_MOST_RADII = 1e4  # from a source to a curved detector or the volume: weights err by 3e-4 at 5e3, by 3e-2 at 5e6


def _check_sizes(geometry: Geometry, volume: Volume) -> None:
    """Raises ParameterError where the tables that kernels read could not hold the scan in fp32."""
    frames, corners = geometry.frames, volume.corners()
    middle, least = (corners[0] + corners[-1]) / 2, min(volume.voxel)
    normal = frames.normals()
    beam = frames.source if geometry.parallel else frames.centre - frames.source
    depth = np.abs(_dot(beam, normal))
    distances = {"detector": _lengths(frames.centre - middle)}
    # How much larger than itself the volume's middle is seen, and by how much beams that lean spread it.
    magnified = _lengths(beam) * _lengths(normal) / depth[:, 0]
    if not geometry.parallel:
        distances["source"] = _lengths(frames.source - middle)
        magnified = magnified * (depth / np.abs(_dot(middle - frames.source, normal)))[:, 0]
    for what, distance in distances.items():
        view = int(distance.argmax())
        if distance[view] > _FARTHEST * least:
            raise ParameterError(
                f"volume: in view {view} the {what} lies {distance[view]:.4g} mm from its middle, more than "
                f"{_FARTHEST:g} of its voxels of {least:.4g} mm; give larger voxels, or a smaller distance"
            )
    _check_hollow_side(geometry)
    if geometry.radius is not None:
        away = np.maximum(_lengths(beam), distances["source"])
        if away[view := int(away.argmax())] > _MOST_RADII * geometry.radius:
            raise ParameterError(
                f"radius: in view {view} the source lies {away[view]:.4g} mm from volume or detector, which is curved "
                f"by {geometry.radius:.4g} mm; give a radius of at least a ten-thousandth of that, or a flat detector"
            )
    pitches = np.stack([_lengths(frames.column), _lengths(frames.row)][: geometry.dimensions - 1])
    across = math.hypot(*(n * size for n, size in zip(volume.shape, volume.voxel, strict=True)))
    covered, voxel = across * magnified / pitches.min(axis=0), least * magnified / pitches.max(axis=0)
    view = int(covered.argmax())
    if covered[view] > _MOST_PIXELS:
        raise ParameterError(
            f"volume: in view {view} it covers {covered[view]:.4g} pixels, of which fp32 tells no more than "
            f"{_MOST_PIXELS} apart; give a smaller volume, or larger pixels"
        )
    view = int(voxel.argmin())
    if voxel[view] < _LEAST_PIXELS:
        raise ParameterError(
            f"volume: in view {view} a voxel covers {voxel[view]:.4g} pixels, less than {_LEAST_PIXELS:g}; give larger "
            "voxels or smaller pixels"
        )
    if not geometry.parallel:  # a ray's direction is a difference of places, which float64 rounds where they are far
        places = np.maximum(_lengths(frames.source), _lengths(frames.centre))
        lost = np.finfo(np.float64).eps * places / _lengths(beam) * distances["source"]
        if lost[view := int(lost.argmax())] > _MOST_LOST * least:
            raise ParameterError(
                f"volume: in view {view} float64 places rays to {lost[view]:.4g} mm there, so far is the source and so "
                f"near to it the detector; give voxels larger than {least:.4g} mm, or a larger detector"
            )


def _check_hollow_side(geometry: Geometry) -> None:
    """Raises ParameterError where a curved detector goes round its cylinder more than once, or shows its source its
    back: what is projected onto it lies on the hollow side."""
    radius, frames, columns = geometry.radius, geometry.frames, geometry.detector.columns
    if radius is None:
        return
    pitch, inwards = _lengths(frames.column)[:, np.newaxis], frames.normals()
    side, inwards = frames.column / pitch, inwards / _lengths(inwards)[:, np.newaxis]
    to_axis = frames.centre + radius * inwards - frames.source
    across, along, end = _dot(to_axis, side), _dot(to_axis, inwards), (columns - 1) / 2 * pitch / radius
    angle = np.hstack([-end, end, np.clip(np.arctan2(-across, along), -end, end)])  # the last is where it is least deep
    wrong = (radius + across * np.sin(angle) - along * np.cos(angle) <= 0) | (end >= math.pi)
    if wrong.any():
        raise ParameterError(
            f"radius: in view {np.flatnonzero(wrong.any(axis=1))[0]} the ends of the curved detector turn their backs "
            f"to the source, or overlap; give a radius larger than {radius:.4g} mm, or fewer columns"
        )


def _lengths(vectors: np.ndarray) -> Float64Array:
    """Lengths of the rows, (n,)."""
    found: Float64Array = np.sqrt(_dot(vectors, vectors))[:, 0]
    return found


def as_geometry(given: Any) -> Geometry:
    """Returns what is given if it is a geometry, else raises ParameterError."""
    if not isinstance(given, Geometry):
        raise ParameterError(f"geometry: {type(given).__name__} is not a geometry; make one, say with circular")
    return given


def points_of(given: ArrayLike, name: str = "points") -> Float64Array:
    """Points (..., 3) in fp64. Raises ArrayError."""
    points = real(name, given, "(..., 3), x, y and z in mm")
    if not points.ndim or points.shape[-1] != 3:
        raise ArrayError(f"{name}: its shape is {points.shape}; give (..., 3), x, y and z in mm")
    return points
