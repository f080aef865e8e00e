"""Scans given by free vectors for each view, and scans of ASTRA."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked, real
from gpuopt.point_arrays import ReadOnly
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.detector import Detector, Frames, Projection
from gpuopt.tomo.geometry import Geometry, angles_around_z, points_of
from gpuopt.tomo.kinds import Counts, Numbers
from gpuopt.tomo.scans import circular, parallel2d, parallel3d

_KINDS = {"cone_vec": 12, "cyl_cone_vec": 13, "parallel3d_vec": 12}
_PLANAR = {"parallel": "parallel_vec", "fanflat": "fanflat_vec"}  # ASTRA's types of slices


@dataclass(frozen=True, eq=False, repr=False)
class Vectors(ReadOnly, Geometry):
    """A scan by free vectors, made by :func:`from_vectors` and :func:`from_astra`. The counts of ``detector`` hold for
    all views, its pitches for the first one. In 2D all vectors lie in the plane z = 0, but for a row's step of 1 along
    z."""

    free: Frames
    beams: bool
    """Whether each view's rays are parallel."""
    arc: float | None

    @property
    def parallel(self) -> bool:
        return self.beams

    @property
    def views(self) -> int:
        return len(self.free.source)

    @property
    def radius(self) -> float | None:
        return self.arc

    @property
    def frames(self) -> Frames:
        return self.free

    @property
    def view_angles(self) -> Float64Array:
        # A scan may turn about any axis, so that the source's own place around z says little.
        return angles_around_z(self.free.source if self.beams else self.free.source - self.free.centre)

    def project(self, points: Float64Array, view: int) -> Projection:
        points, view = points_of(points), checks.view(view, self.views)
        source, centre, u, v = (vectors[view] for vectors in self.free)
        normal = np.cross(u, v)
        middle = ((self.detector.rows - 1) / 2, (self.detector.columns - 1) / 2)
        if self.arc is not None:
            return self._on_cylinder(points, view)
        if self.beams:
            scale = 1.0
            hit = points - centre - ((points - centre) @ normal / (source @ normal))[..., np.newaxis] * source
            density = np.full(points.shape[:-1], math.sqrt(source @ source) / abs(source @ normal))
        else:
            beam = points - source
            depth = beam @ normal
            with np.errstate(divide="ignore", invalid="ignore"):  # beside the source
                scale = (centre - source) @ normal / depth
                hit = source - centre + scale[..., np.newaxis] * beam
                density = scale ** (self.dimensions - 1) * np.linalg.norm(beam, axis=-1) / np.abs(depth)
            density = np.where(scale > 0, density, 0.0)
        uu, vv, uv = u @ u, v @ v, u @ v
        along_u, along_v = hit @ u, hit @ v
        determinant = uu * vv - uv**2
        row = (uu * along_v - uv * along_u) / determinant + middle[0]
        return Projection(row, (vv * along_u - uv * along_v) / determinant + middle[1], density)

    def _on_cylinder(self, points: Float64Array, view: int) -> Projection:
        """As ``project``, for a cylinder: its axis is parallel to the step from row to row and lies at the radius from
        the centre, on the side of column x row."""
        assert self.arc is not None
        source, centre, u, v = (vectors[view] for vectors in self.free)
        du, dv = math.sqrt(u @ u), math.sqrt(v @ v)
        side, up = u / du, v / dv
        inwards = np.cross(side, up)
        from_axis = source - (centre + self.arc * inwards)
        beam = points - source
        # |from_axis + scale beam| = radius, in the plane perpendicular to the axis. The larger root is the hollow side.
        b_in, b_side = beam @ inwards, beam @ side
        a_in, a_side = from_axis @ inwards, from_axis @ side
        a, b = b_in**2 + b_side**2, a_in * b_in + a_side * b_side
        ahead = (source - centre) @ inwards
        c = (ahead - 2 * self.arc) * ahead + a_side**2  # a_in^2 + a_side^2 - arc^2, whose digits a large arc takes
        square = b**2 - a * c
        root = np.sqrt(np.maximum(square, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(b > 0, -c / (b + root), (root - b) / a)
            density = scale**2 * np.linalg.norm(beam, axis=-1) * self.arc / (root * du * dv)
        density = np.where((square > 0) & (scale > 0), density, 0)
        gamma = np.arctan2(a_side + scale * b_side, -(a_in + scale * b_in))
        row = ((source - centre) @ up + scale * (beam @ up)) / dv + (self.detector.rows - 1) / 2
        return Projection(row, self.arc * gamma / du + (self.detector.columns - 1) / 2, density)

    @checked
    def refined(self, times: int) -> Vectors:
        times = checks.count("times", times)
        rows = times if self.dimensions == 3 else 1
        finer = self.free._replace(
            column=checks.frozen(self.free.column / times), row=checks.frozen(self.free.row / rows)
        )
        return replace(self, detector=self.detector.refined(times, self.dimensions), free=finer)

    @checked
    def shifted(self, v: float, u: float) -> Vectors:
        _, centre, column, row = self.free
        down, u = checks.number("v", v, "rows"), checks.number("u", u, "columns")
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond all is refused below
            if self.dimensions == 3:  # a slice stays in its plane
                centre = _at_hand("v", centre + down * row)
            along = _at_hand("u", u * column)
        if self.arc is not None:
            pitch = np.linalg.norm(column, axis=1, keepdims=True)
            inwards = self.free.normals() / np.linalg.norm(self.free.normals(), axis=1, keepdims=True)
            angle = u * pitch / self.arc
            along = self.arc * (np.sin(angle) * column / pitch + 2 * np.sin(angle / 2) ** 2 * inwards)
            column = np.cos(angle) * column + np.sin(angle) * pitch * inwards
        centre = _at_hand("u", centre + along)
        moved = self.free._replace(centre=checks.frozen(centre), column=checks.frozen(column))
        return replace(self, free=moved)

    def _take(self, index: np.ndarray) -> Vectors:
        return replace(self, free=self.free.at(index))

    def __repr__(self) -> str:
        return f"<{'parallel' if self.beams else 'cone'} vectors: {self._kind()}>"


@checked
def from_vectors(vectors: Numbers, det: Counts, kind: str = "cone_vec") -> Vectors:
    """A scan by free vectors (views, 12): a row for each view in ASTRA's order, S, C, U, Q, each (x, y, z) in mm.

    S is the source, or where ``kind`` is "parallel3d_vec" the direction towards it, against the rays. C is the
    detector's middle, U the step from a column to the next, Q that from a row to the next. ``det`` = (rows, columns).
    With "cyl_cone_vec" a row ends in the radius of a cylinder, whose axis is parallel to Q and lies from C on the side
    of U x Q; U is then a tangent at C, as long as the arc of one column. Projections are (views, rows, columns). Raises
    ArrayError and ParameterError, naming the view.

    Examples
    --------
    >>> gt.from_vectors([[0, -100, 0, 0, 100, 0, 2, 0, 0, 0, 0, 2]], det=(4, 6))
    <cone vectors: 1 view, flat, 4 rows x 6 columns of 2 x 2 mm>
    """
    if kind not in _KINDS:
        raise ParameterError(f"kind: {kind!r} is not known; give one of {', '.join(map(repr, _KINDS))}")
    return _of_table(_checked(_table("vectors", vectors, _KINDS[kind], kind)), det, kind, 3)


def _table(name: str, given: object, width: int, kind: str) -> Float64Array:
    table = real(name, given, f"(views, {width})")
    if table.ndim != 2 or not len(table) or table.shape[1] != width:
        raise ArrayError(f"{name}: their shape is {table.shape}; give (views, {width}) for {kind!r}")
    return table


def _checked(table: Float64Array) -> Float64Array:
    if not np.isfinite(table).all():
        raise ArrayError(f"vectors: view {np.argwhere(~np.isfinite(table))[0][0]} holds NaN or infinity; correct it")
    beyond = np.abs(table).max(axis=1) > checks.LONGEST
    _views("vectors", beyond, f"an entry is beyond {checks.LONGEST:g} mm")
    return table


def _at_hand(name: str, places: Float64Array) -> Float64Array:
    """``places`` (views, 3), where ``name`` moved the detector to. Raises ParameterError for those out of range."""
    beyond = ~(np.abs(places).max(axis=1) <= checks.LONGEST)
    _views(name, beyond, f"it moves the detector beyond {checks.LONGEST:g} mm; give less")
    return places


def _of_table(table: Float64Array, det: Counts, kind: str, dimensions: int) -> Vectors:
    """The scan of checked vectors; ``det`` has one count in 2D."""
    parallel = kind in ("parallel3d_vec", "parallel_vec")
    frames = Frames(*(checks.frozen(table[:, i : i + 3]) for i in (0, 3, 6, 9)))
    lengths = [np.linalg.norm(step, axis=1) for step in (frames.column, frames.row)]
    for step, what in zip(lengths, ("U", "Q"), strict=True):
        _views("vectors", (step > 0) & (step < checks.SHORTEST), f"its step {what} is below {checks.SHORTEST:g} mm")
    normals = frames.normals()
    areas = np.linalg.norm(normals, axis=1)
    _views("vectors", areas <= 1e-9 * lengths[0] * lengths[1], "its steps U and Q are zero or parallel")
    beam = frames.source if parallel else frames.source - frames.centre
    apart = np.linalg.norm(beam, axis=1)
    _views(
        "vectors",
        (apart > 0) & (apart < checks.SHORTEST),
        f"its S is less than {checks.SHORTEST:g} mm {'long' if parallel else 'from C'}",
    )
    seen = (beam * normals).sum(axis=1)
    flat = np.abs(seen) <= 1e-9 * areas * np.linalg.norm(beam, axis=1)
    _views("vectors", flat, "its source lies in the detector's plane")
    arc = None
    if kind == "cyl_cone_vec":
        arc = checks.length(
            "vectors", checks.positive("vectors", float(table[0, 12]), "the radius in mm in the last column")
        )
        _views("vectors", table[:, 12] != arc, "its radius differs from that of view 0")
        _views("vectors", areas < (1 - 1e-9) * lengths[0] * lengths[1], "its steps U and Q are not perpendicular")
        _views("vectors", seen <= 0, "the hollow side (U x Q) does not look at the source; give -U or -Q")
    detector = Detector.of(dimensions, det, (lengths[1][0], lengths[0][0]) if dimensions == 3 else lengths[0][0], 0.0)
    return Vectors(detector, dimensions, frames, parallel, arc)


def _in_plane(given: Float64Array, det: Counts, kind: str) -> Vectors:
    """A 2D scan by ASTRA's vectors (views, 6), S, C, U, each (x, y), mirrored at y = 0."""
    whole = np.zeros((len(given), 12))
    for first in range(3):
        whole[:, 3 * first] = given[:, 2 * first]
        whole[:, 3 * first + 1] = -given[:, 2 * first + 1]
    whole[:, 11] = 1
    checked_table = _checked(whole)
    return _of_table(checked_table, det, kind, 2)


def _fan_vectors(angles: Float64Array, sod: float, odd: float, width: float) -> Float64Array:
    """ASTRA's "fanflat" as its "fanflat_vec"."""
    sin, cos = np.sin(angles), np.cos(angles)
    return np.stack([sin * sod, -cos * sod, -sin * odd, cos * odd, cos * width, sin * width], axis=1)


def _views(name: str, wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        raise ParameterError(f"{name}: view {int(np.flatnonzero(wrong)[0])}: {why}")


@checked
def from_astra(geometry: Mapping[str, Any], *, units: str | None = None) -> Geometry:
    """A scan from the dictionary of an ASTRA projection geometry, 3D ("cone", "parallel3d", "cone_vec", "cyl_cone_vec",
    "parallel3d_vec") or 2D ("parallel", "fanflat", "parallel_vec", "fanflat_vec"). Its lengths are taken as mm;
    ``units`` of its angles as in :func:`parallel2d`.

    The rows of ASTRA's 2D images run towards -y, ours towards +y. A 2D scan is mirrored, so that images and sinograms
    are the same arrays here and there. Raises ParameterError, ArrayError.

    Examples
    --------
    >>> astra = {"type": "parallel", "DetectorCount": 6, "DetectorWidth": 1.0, "ProjectionAngles": [0.0, 1.0]}
    >>> gt.from_astra(astra).shape
    (2, 6)
    >>> gt.from_astra(gt.circular(8, 100.0, 200.0, (4, 6), 2.0).to_astra()).shape
    (8, 4, 6)
    """
    checks.unit(units)
    given = _Entries(geometry)
    kind = given["type"]
    flat = isinstance(kind, str) and kind in (*_PLANAR, *_PLANAR.values())
    if not flat and not (isinstance(kind, str) and kind in ("cone", "parallel3d", *_KINDS)):
        types = [*_PLANAR, *_PLANAR.values(), "cone", "parallel3d", *_KINDS]
        raise ParameterError(f"geometry: its type {kind!r} is not known; give one of {', '.join(map(repr, types))}")
    if flat:
        return _planar(given, kind, units)
    det = given.count("DetectorRowCount"), given.count("DetectorColCount")
    if kind in _KINDS:
        return from_vectors(_table("Vectors", given["Vectors"], _KINDS[kind], kind), det, kind)
    angles = checks.vector("ProjectionAngles", given["ProjectionAngles"], "angles")
    pixel = given.length("DetectorSpacingY"), given.length("DetectorSpacingX")
    if kind == "parallel3d":
        return parallel3d(angles, det, pixel, units=units)
    sod, odd = given.distances()
    return circular(angles, sod, sod + odd, det, pixel, units=units)


@dataclass(frozen=True)
class _Entries:
    """ASTRA's dictionary, whose entries are refused by their names there."""

    given: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        try:
            return self.given[name]
        except KeyError as error:
            raise ParameterError(
                f"geometry: the entry {name!r} is missing; give all entries of ASTRA's dictionary"
            ) from error
        except TypeError as error:
            raise ParameterError(
                "geometry: it is not a dictionary; give what astra.create_proj_geom returned"
            ) from error

    def count(self, name: str) -> int:
        return checks.count(name, self[name], checks.MOST_CELLS)

    def length(self, name: str) -> float:
        return checks.length(name, self[name])

    def distances(self) -> tuple[float, float]:
        """Of the source and of the detector from the axis, which may lie behind the detector."""
        name = "DistanceOriginDetector"
        sod, odd = self.length("DistanceOriginSource"), checks.place(name, self[name])
        if sod + odd < checks.SHORTEST:
            raise ParameterError(f"{name}: at {odd:g} mm it is not behind the source; give more than {-sod:g} mm")
        return sod, odd


def _planar(given: _Entries, kind: str, units: str | None) -> Geometry:
    """A slice's scan, mirrored at y = 0."""
    det = given.count("DetectorCount")
    if kind in _PLANAR.values():
        return _in_plane(_table("Vectors", given["Vectors"], 6, kind), det, kind)
    angles = checks.vector("ProjectionAngles", given["ProjectionAngles"], "angles")
    angles = checks.angles("ProjectionAngles", angles, math.pi, units=units)
    width = given.length("DetectorWidth")
    if kind == "parallel":
        return parallel2d(-angles, det, width, units="rad")
    return _in_plane(_fan_vectors(angles, *given.distances(), width), det, "fanflat_vec")
