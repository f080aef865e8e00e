"""The scans: parallel beams, fans, and cones on a circle or a helix; and the functions that make them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import as_array, checked
from gpuopt.point_arrays import ReadOnly
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.detector import Detector, Frames, Projection
from gpuopt.tomo.geometry import Geometry, points_of
from gpuopt.tomo.kinds import Angles, Counts, Lengths


@dataclass(frozen=True, eq=False, repr=False)
class Parallel(ReadOnly, Geometry):
    """Parallel beams at ``angles`` around z; made by :func:`parallel2d` and :func:`parallel3d`."""

    angles: Float64Array

    @property
    def parallel(self) -> bool:
        return True

    @property
    def views(self) -> int:
        return len(self.angles)

    @cached_property
    def frames(self) -> Frames:
        theta, e, z = _axes(self.angles)
        d = self.detector
        return Frames(*map(checks.frozen, (theta, d.u_offset * e + d.v_offset * z, d.du * e, d.dv * z)))

    def project(self, points: Float64Array, view: int) -> Projection:
        x, y, z = np.moveaxis(points_of(points), -1, 0)
        view = checks.view(view, self.views)
        s = x * math.cos(self.angles[view]) + y * math.sin(self.angles[view])
        d = self.detector
        return Projection(d.row(z), d.column(s), np.full_like(s, 1 / (d.du * d.dv)))

    def _take(self, index: np.ndarray) -> Parallel:
        return replace(self, angles=checks.frozen(self.angles[index]))

    def __repr__(self) -> str:
        return f"<parallel{self.dimensions}d: {self._kind()}>"


@dataclass(frozen=True, eq=False, repr=False)
class Cone(ReadOnly, Geometry):
    """Rays from a source that circles the axis z at the distance ``sod``, at a height ``z`` in each view, to a detector
    at the distance ``sdd`` from the source: flat, or a cylinder whose axis is parallel to z. Made by :func:`fan`,
    :func:`circular` and :func:`helical`."""

    angles: Float64Array
    sod: float
    sdd: float
    arc: float | None
    """The detector's radius in mm; None: it is flat."""
    z0: float = 0.0
    """Height of the source at the angle ``t_ref``, mm."""
    pitch: float = 0.0
    """How far it rises in a turn, mm."""
    t_ref: float = 0.0
    """In radians."""

    @property
    def parallel(self) -> bool:
        return False

    def __post_init__(self) -> None:
        if self.arc is None:
            return
        edge = self.detector.reach / self.arc
        behind = self.sdd - self.arc  # the cylinder's axis, beyond the source
        # Every pixel must lie in front of the source, and on the side of the cylinder that is hollow seen from there.
        if edge >= math.pi or behind + self.arc * math.cos(edge) <= 0 or self.arc + behind * math.cos(edge) <= 0:
            raise ParameterError(
                f"det: along u the detector reaches {math.degrees(edge):.4g} degrees around its cylinder of radius "
                f"{self.arc:g} mm, where the source does not see it; give fewer or smaller pixels, or a larger radius"
            )

    @property
    def views(self) -> int:
        return len(self.angles)

    @property
    def radius(self) -> float | None:
        return self.arc

    @cached_property
    def z(self) -> Float64Array:
        """Height of the source and of the detector's line v = 0 in each view, mm."""
        return checks.frozen(self.z0 + self.pitch * (self.angles - self.t_ref) / (2 * math.pi))

    @property
    def normalised_pitch(self) -> float:
        """The pitch as a multiple of the detector's height scaled to the axis: pitch / (rows dv sod / sdd)."""
        return self.pitch / (self.detector.rows * self.detector.dv * self.sod / self.sdd)

    @property
    def half_fan(self) -> float:
        """Half the fan angle, m, in radians: from the ray through the axis to the edge of the detector that is farther
        away."""
        reach = self.detector.reach
        if self.arc is None:
            return math.atan(reach / self.sdd)
        across, depth = self.arc * math.sin(reach / self.arc), self.arc * math.cos(reach / self.arc)
        return math.atan2(across, self.sdd - self.arc + depth)

    @cached_property
    def frames(self) -> Frames:
        theta, e, z = _axes(self.angles)
        d = self.detector
        lift = self.z[:, np.newaxis] * z
        behind = (self.sod - self.sdd) * theta + lift + d.v_offset * z
        if self.arc is None:
            centre, tangent = behind + d.u_offset * e, e
        else:
            g = d.u_offset / self.arc
            centre = behind + self.arc * (2 * math.sin(g / 2) ** 2 * theta + math.sin(g) * e)
            tangent = math.sin(g) * theta + math.cos(g) * e
        return Frames(*map(checks.frozen, (self.sod * theta + lift, centre, d.du * tangent, d.dv * z)))

    def project(self, points: Float64Array, view: int) -> Projection:
        s, depth, w = self._turned(points, view)
        d = self.detector
        power = self.dimensions - 1
        if self.arc is None:
            with np.errstate(divide="ignore", invalid="ignore"):  # beside the source
                scale = self.sdd / depth
                u, v = scale * s, scale * w
                density = scale**power * np.sqrt(1 + (s / depth) ** 2 + (w / depth) ** 2)
            density = np.where(depth > 0, density, 0.0)
        else:
            alpha, distance = np.arctan2(s, depth), np.hypot(s, depth)
            ell, gamma, seen = self._meet(alpha, self.arc)
            u, v = self.arc * gamma, ell * w / distance
            slant = np.where(seen, np.cos(gamma - alpha), np.inf)
            density = (ell / distance) ** power * np.sqrt(1 + (w / distance) ** 2) / slant
        return Projection(d.row(v), d.column(u), density / (d.du * d.dv))

    def fdk_weight(self, points: Float64Array, view: int) -> Float64Array:
        """The weight of a filtered view at ``points`` (..., 3): (R / (R - r))^2 for a flat detector, 1 / L^2 for a
        curved one. R is ``sod``; R - r is the distance from the source along the central ray, L that seen along z."""
        s, depth, _ = self._turned(points, view)
        found: Float64Array = (self.sod / depth) ** 2 if self.arc is None else 1 / (s**2 + depth**2)
        return found

    def _turned(self, points: Float64Array, view: int) -> tuple[Float64Array, Float64Array, Float64Array]:
        """The coordinates of points as the source sees them: s along e, R - r along -theta, and the height w above the
        source."""
        x, y, z = np.moveaxis(points_of(points), -1, 0)
        view = checks.view(view, self.views)
        cos, sin = math.cos(self.angles[view]), math.sin(self.angles[view])
        return x * cos + y * sin, self.sod - (x * sin - y * cos), z - self.z[view]

    def _meet(self, alpha: Float64Array, radius: float) -> tuple[Float64Array, Float64Array, np.ndarray]:
        """Where rays at the fan angle alpha meet the cylinder: their length ell seen along z, the angle gamma around
        the cylinder's axis, and whether they meet it at all."""
        behind = self.sdd - radius
        sin, cos = np.sin(alpha), np.cos(alpha)
        square = radius**2 - behind**2 * sin**2
        q = np.sqrt(np.maximum(square, 0))
        # Two forms of one root: in each case the one in which nothing cancels.
        ell = behind * cos + q if behind >= 0 else self.sdd * (2 * radius - self.sdd) / (q - behind * cos)
        return ell, np.arctan2(ell * sin, ell * cos - behind), square > 0

    def _forward(self) -> Float64Array:
        return -_axes(self.angles)[0]

    def _take(self, index: np.ndarray) -> Cone:
        return replace(self, angles=checks.frozen(self.angles[index]))

    def __repr__(self) -> str:
        name = "fan" if self.dimensions == 2 else "helical" if self.pitch else "circular"
        pitch = f", pitch {self.pitch:g} mm ({self.normalised_pitch:.3g})" if self.pitch else ""
        return f"<{name}: {self._kind()}, sod {self.sod:g} mm, sdd {self.sdd:g} mm{pitch}>"


@checked
def parallel2d(
    angles: Angles, det: Counts, pixel: Lengths = 1.0, offset: Lengths = 0.0, *, units: str | None = None
) -> Parallel:
    """Parallel beams in the plane z = 0. ``angles`` are the view angles (views,), in any order, or how many are spread
    over half a turn.

    ``units`` of the angles are "rad" or "deg"; None: radians, which are refused as degrees where they span more than
    two turns. The detector has ``det`` columns of ``pixel`` mm, and its middle lies at u = ``offset`` mm. Projections
    are (views, det). Raises ParameterError, ArrayError, naming the argument.

    Examples
    --------
    >>> scan = gt.parallel2d(4, det=8, pixel=0.5)
    >>> scan
    <parallel2d: 4 views, 8 columns of 0.5 mm>
    >>> np.degrees(scan.angles).round(6)
    array([  0.,  45.,  90., 135.])
    """
    return Parallel(Detector.of(2, det, pixel, offset), 2, checks.angles("angles", angles, math.pi, units=units))


@checked
def parallel3d(
    angles: Angles, det: Counts, pixel: Lengths = 1.0, offset: Lengths = 0.0, *, units: str | None = None
) -> Parallel:
    """Parallel beams. ``angles`` and ``units`` are as in :func:`parallel2d`; ``det`` = (rows, columns), ``pixel`` =
    (dv, du) and ``offset`` = (v, u) in mm, or one number for both axes. Projections are (views, rows, columns). Raises
    ParameterError, ArrayError, naming the argument.

    Examples
    --------
    >>> gt.parallel3d([0, 45, 90], det=(4, 8), pixel=(1.0, 0.5), units="deg")
    <parallel3d: 3 views, 4 rows x 8 columns of 1 x 0.5 mm>
    """
    return Parallel(Detector.of(3, det, pixel, offset), 3, checks.angles("angles", angles, math.pi, units=units))


@checked
def fan(
    angles: Angles,
    sod: float,
    sdd: float,
    det: Counts,
    pixel: Lengths,
    curved: bool = False,
    *,
    radius: float | None = None,
    offset: Lengths = 0.0,
    units: str | None = None,
) -> Cone:
    """A fan in the plane z = 0, from a source at ``sod`` mm from the axis. ``angles`` are the view angles (views,),
    or how many are spread over a turn; ``units`` as in :func:`parallel2d`.

    The detector has ``det`` columns of ``pixel`` mm at ``sdd`` mm from the source, and its middle lies at u =
    ``offset`` mm. It is flat; an arc about the source if ``curved``; or an arc of a ``radius`` in mm. Projections
    are (views, det). Raises ParameterError, ArrayError, naming the argument.

    Examples
    --------
    >>> scan = gt.fan(8, sod=100.0, sdd=200.0, det=6, pixel=2.0, curved=True)
    >>> scan.shape, scan.radius
    ((8, 6), 200.0)
    """
    found = checks.angles("angles", angles, 2 * math.pi, units=units)
    return _cone(2, found, sod, sdd, det, pixel, curved, radius, offset)


@checked
def circular(
    angles: Angles,
    sod: float,
    sdd: float,
    det: Counts,
    pixel: Lengths,
    curved: bool = False,
    *,
    radius: float | None = None,
    offset: Lengths = 0.0,
    z0: float = 0.0,
    units: str | None = None,
) -> Cone:
    """A cone beam from a source on a circle at the height ``z0`` mm. Arguments and errors as in :func:`fan`, with
    ``det`` = (rows, columns), ``pixel`` = (dv, du) and ``offset`` = (v, u); a curved detector is a cylinder whose axis
    is parallel to z. Projections are (views, rows, columns).

    Examples
    --------
    >>> scan = gt.circular(8, sod=100.0, sdd=200.0, det=(4, 6), pixel=2.0)
    >>> scan
    <circular: 8 views, flat, 4 rows x 6 columns of 2 x 2 mm, sod 100 mm, sdd 200 mm>
    >>> scan.shape
    (8, 4, 6)
    """
    found = checks.angles("angles", angles, 2 * math.pi, units=units)
    return _cone(3, found, sod, sdd, det, pixel, curved, radius, offset, checks.place("z0", z0))


@checked
def helical(
    views: Angles,
    turns: float | None,
    sod: float,
    sdd: float,
    det: Counts,
    pixel: Lengths,
    pitch: float,
    curved: bool = False,
    *,
    radius: float | None = None,
    offset: Lengths = 0.0,
    start: float = 0.0,
    z0: float = 0.0,
    t_ref: float | None = None,
    units: str | None = None,
) -> Cone:
    """A cone beam from a source on a helix that rises ``pitch`` mm a turn (falls, if negative).

    ``views`` is how many views are spread over ``turns``, from the angle ``start`` on; or, with ``turns`` None and
    without ``start``, their angles (views,). The source is at the height ``z0`` mm at the angle ``t_ref``, which is the
    middle of the scan if None. ``units`` are those of all these angles. The other arguments, projections and errors as
    in :func:`circular`.

    Examples
    --------
    >>> scan = gt.helical(16, turns=2.0, sod=100.0, sdd=200.0, det=(4, 6), pixel=2.0, pitch=8.0)
    >>> scan.shape, round(float(scan.z[8] - scan.z[0]), 6)
    ((16, 4, 6), 8.0)
    """
    factor = checks.unit(units)
    advance = checks.place("pitch", pitch, "mm a turn")
    if as_array("views", views, "angles, or how many").ndim == 0:
        if turns is None:
            raise ParameterError("turns: it is missing; give the number of turns of the scan, or the angles as views")
        whole = 2 * math.pi * checks.radians("turns", turns, unit="turns, negative for the other sense")
        if not whole:
            raise ParameterError("turns: 0 turns make no helix; give another number, or use circular")
        found = checks.angles("views", checks.count("views", views, checks.MOST_VIEWS), whole, advances=True)
        found = checks.frozen(found + checks.radians("start", start, factor))
    elif checks.radians("start", start, factor):
        raise ParameterError("start: views lists the angles already; add it to them, or give the number of views")
    elif turns is not None:
        raise ParameterError("turns: views lists the angles already; give turns=None, or the number of views")
    else:
        found = checks.angles("views", views, 0.0, advances=bool(advance), units=units)
    middle = (found[0] + found[-1]) / 2 if t_ref is None else checks.radians("t_ref", t_ref, factor)
    height = checks.place("z0", z0)
    return _cone(3, found, sod, sdd, det, pixel, curved, radius, offset, height, advance, float(middle))


def _cone(
    dimensions: int,
    angles: Float64Array,
    sod: float,
    sdd: float,
    det: Counts,
    pixel: Lengths,
    curved: bool,
    radius: float | None,
    offset: Lengths,
    z0: float = 0.0,
    pitch: float = 0.0,
    t_ref: float = 0.0,
) -> Cone:
    sod, sdd = checks.length("sod", sod), checks.length("sdd", sdd)
    arc = None
    if radius is not None and radius != math.inf:
        arc = checks.length("radius", radius)
    elif radius is None and curved:
        arc = sdd
    detector = Detector.of(dimensions, det, pixel, offset)
    return Cone(detector, dimensions, angles, sod, sdd, arc, z0, pitch, t_ref)


def _axes(angles: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
    """theta, e and z (views, 3)."""
    sin, cos, zero = np.sin(angles), np.cos(angles), np.zeros(len(angles))
    theta, e = np.stack([sin, -cos, zero], axis=1), np.stack([cos, sin, zero], axis=1)
    return theta, e, np.broadcast_to([0.0, 0.0, 1.0], theta.shape)
