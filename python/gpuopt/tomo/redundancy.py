"""How much each measurement counts in a filtered back projection: a view by the angle around it, and rays that are
measured twice by weights that add up to 1.

A ray at the fan angle a of the view b is measured again at -a in the view b + pi - 2 a; parallel beams are fans with a
= 0, so that u in the view b is -u in the view b + pi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.detector import Detector
from gpuopt.tomo.scans import Cone, Parallel

_SPARSE = 3  # A gap between views of more than so many usual steps is where the scan begins and ends, or a hole.
_LOST = math.radians(5)  # A smaller gap is views that were lost, where no better weights are at hand.
_MISSING = math.pi / 8  # A larger hole makes a limited angle.
_TAPER = math.radians(10)  # Over such an angle the weights of a fan's limited angle begin and end.
_BLEND = 4  # Wang's window is so many offsets wide, or as wide as the overlap.
_SAME = 1e-3  # Views that are nearer to each other, in mean gaps, are at one place.
_LEAST_SEEN = 6  # columns that all views see of a displaced detector: of 5, the voxel at the axis is off by half
_CENTRED = 1e-9  # Lengths below so many widths of the detector are none.


class Redundancy(NamedTuple):
    """The weights of a scan's measurements."""

    weights: Float64Array
    """(views, columns), or (views, 1) where all columns count the same."""
    added: int
    """How many columns of zeros make a displaced detector reach as far on its near side: filtered rows are not zero
    there."""
    redundant: bool
    """Whether the far side of a displaced detector stands for the near one."""
    told: tuple[str, ...] = ()
    """What to warn of whenever they are used."""


def parallel_weights(scan: Parallel, limited_angle: bool) -> Redundancy:
    """Of parallel beams: views of half a turn, or of a full turn, whatever their order. Warns of a hole of more than 5
    degrees and three usual steps in the half turn, and raises ParameterError for one that is of more than 22.5 as well,
    unless ``limited_angle``."""
    near, turn = _near(scan.detector), Arc.of(scan.angles, 2 * math.pi)
    if not _centred(scan.detector) and turn.closes(_LOST):
        return _displaced(scan.detector, near, turn, scan.detector.u)
    arc = Arc.of(scan.angles, math.pi)
    if arc.closes(_LOST):
        return Redundancy(arc.shares(closed=True)[:, np.newaxis], 0, False)
    hole = _hole(arc.gap, "the half turn that fbp needs", limited_angle)
    return Redundancy(_stretched(arc)[:, np.newaxis], 0, False, (hole,))


def fan_weights(scan: Cone, limited_angle: bool) -> Redundancy:
    """Of a fan, or a cone on a circle: a full turn, or half a turn and the fan. Raises ParameterError for less, unless
    ``limited_angle``, which warns; of holes in it as :func:`parallel_weights`."""
    detector, near, turn = scan.detector, _near(scan.detector), Arc.of(scan.angles, 2 * math.pi)
    if turn.closes(0.0 if _centred(detector) else _LOST):
        if _centred(detector):
            return Redundancy(turn.shares(closed=True)[:, np.newaxis] / 2, 0, False)
        return _displaced(detector, near, turn, fan_angles(scan, detector.u), scan)
    told: tuple[str, ...] = ()
    if turn.hole > max(_SPARSE * turn.usual, _LOST):
        hole = _hole(turn.hole, f"the {math.degrees(turn.span):.4g} from the first view to the last", limited_angle)
        told = (hole,)
    alpha, span = fan_angles(scan, detector.u), turn.span + turn.step
    widest = float(np.abs(alpha).max())
    if (span - math.pi) / 2 >= widest - 1e-9:
        sharing = parker(turn.turned + turn.step / 2, turn.sense * alpha, (span - math.pi) / 2)
        return Redundancy(turn.shares(closed=False)[:, np.newaxis] * sharing, 0, False, told)
    missing = (
        f"angles: they cover {math.degrees(span):.4g} degrees; a short scan of this fan needs "
        f"{math.degrees(math.pi + 2 * widest):.4g}"
    )
    if not limited_angle:
        raise ParameterError(f"{missing}; use sirt, cut columns off, or give limited_angle=True")
    told = (*told, f"{missing}; what lies along the missing rays is blurred")
    return Redundancy(_stretched(turn)[:, np.newaxis] * limited(turn, turn.sense * alpha), 0, False, told)


def _hole(hole: float, within: str, limited_angle: bool) -> str:
    """What to say of a hole. Raises ParameterError for a large one, unless ``limited_angle``."""
    missing = f"angles: no view lies in {math.degrees(hole):.3g} degrees of {within}"
    if hole > _MISSING and not limited_angle:
        raise ParameterError(f"{missing}; use sirt, or give limited_angle=True")
    return f"{missing}; what lies along these rays is blurred"


def fan_angles(scan: Cone, u: Float64Array) -> Float64Array:
    """The fan angles at places of a detector that is flat or about the source."""
    return np.arctan(u / scan.sdd) if scan.radius is None else u / scan.sdd


def _centred(detector: Detector) -> bool:
    return abs(detector.u_offset) <= _CENTRED * detector.columns * detector.du


def _near(detector: Detector) -> float:
    """How far the detector reaches on the side on which it reaches less far, mm. Raises ParameterError where that is on
    the other side of the axis."""
    width = detector.columns * detector.du
    near = width / 2 - abs(detector.u_offset)
    if near > _CENTRED * width:
        return near
    low, high = (detector.u_offset + sign * width / 2 for sign in (-1, 1))
    raise ParameterError(
        f"offset: the detector reaches from u = {low:.4g} to {high:.4g} mm, so that no view sees the axis; move it "
        "over u = 0, or use os_sart"
    )


def _displaced(detector: Detector, near: float, turn: Arc, place: Float64Array, scan: Cone | None = None) -> Redundancy:
    """The weights of a displaced detector over a full turn; ``place`` is that of its columns, u or the fan angle."""
    offset, seen = abs(detector.u_offset), 2 * near / detector.du
    if seen < _LEAST_SEEN - 1e-6:
        raise ParameterError(
            f"offset: all views see {seen:.2g} columns on both sides of the axis, too few for filtered projections; "
            f"give {_LEAST_SEEN}, or use os_sart"
        )
    ends = np.array([near - min(near, _BLEND * offset), near])
    inner, outer = ends if scan is None else fan_angles(scan, ends)
    window = overlap(math.copysign(1, detector.u_offset) * place, inner, outer)
    shares = turn.shares(closed=True)
    return Redundancy(shares[:, np.newaxis] * window, round(2 * offset / detector.du), True)


def overlap(place: Float64Array, inner: float, outer: float) -> Float64Array:
    """Wang's weights of a displaced detector's columns, at a ``place`` that grows towards the far side: from 0 at
    -``outer`` to 1 at ``outer``, and 1/2 within ``inner`` of the axis. With ``inner`` 0 they are his equation for the
    whole overlap (Wang 2002)."""
    part = np.clip((np.abs(place) - inner) / (outer - inner), 0, 1)
    found: Float64Array = (1 + np.sign(place) * np.sin(np.pi / 2 * part)) / 2
    return found


def parker(turned: Float64Array, alpha: Float64Array, half: float) -> Float64Array:
    """Parker's weights (views, columns) of a short scan over pi + 2 ``half``: the two measurements of a ray that is
    measured twice share the weight 1 (Parker 1982; over more than the least angle, Silver 2000).

    ``turned`` (views,) is the angle since the scan's beginning, half a step before its first view; ``alpha`` (columns,)
    the fan angle, negated where the view angles decrease; ``half`` at least the largest fan angle.
    """
    b, a = turned[:, np.newaxis], alpha
    # At the edge of the fan a ramp's width may be 0; then its value is never used.
    rise, fall = (4 * np.maximum(half + sign * a, 1e-12) for sign in (1, -1))
    weights = np.where(b > math.pi + 2 * a, np.sin(np.pi * (math.pi + 2 * half - b) / fall) ** 2, 1.0)
    weights = np.where(b < 2 * (half + a), np.sin(np.pi * b / rise) ** 2, weights)
    found: Float64Array = np.where(b > math.pi + 2 * half, 0.0, weights)
    return found


def limited(arc: Arc, alpha: Float64Array) -> Float64Array:
    """Weights (views, columns) of a fan's limited angle: a ray that is measured once counts 1, and two measurements of
    a ray share the weight 1 by how far they lie within the scan (Noo 2002). ``alpha`` as in :func:`parker`."""
    span = arc.span + arc.step
    taper = min(_TAPER, span / 2)

    def inside(b: Float64Array) -> Float64Array:
        if not span:
            return np.zeros_like(b)
        found: Float64Array = np.sin(np.pi / 2 * np.clip(np.minimum(b, span - b) / taper, 0, 1)) ** 2
        return found

    b = np.broadcast_to(arc.turned[:, np.newaxis] + arc.step / 2, (len(arc.turned), len(alpha)))
    here, again = inside(b), inside((b + math.pi - 2 * alpha) % (2 * math.pi))
    return np.divide(here, here + again, out=np.ones_like(b), where=again > 0)


def _stretched(arc: Arc) -> Float64Array:
    """The shares of views that do not close; where they cover less than half a turn, they stand for the missing ones
    as well, so that the mean of a round object stays."""
    shares = arc.shares(closed=False)
    covered = float(shares.sum())
    if not covered:
        return np.full(len(shares), math.pi / len(shares))
    return shares * max(1.0, math.pi / covered)


def _places(along: Float64Array) -> np.ndarray:
    """The number of each view's place, from 0, of angles that rise from 0. A place reaches no further from its first
    view than ``_SAME`` mean gaps between places, so that dense views do not become one."""
    starts = np.ones(len(along), bool)
    while True:
        places = int(starts.sum())
        beyond = np.searchsorted(along, along + _SAME * along[-1] / max(places - 1, 1), side="right").tolist()
        starts[:], view = False, 0
        while view < len(along):
            starts[view], view = True, beyond[view]
        if int(starts.sum()) == places:
            found: np.ndarray = np.cumsum(starts) - 1
            return found


@dataclass(frozen=True, eq=False)
class Arc:
    """View angles around a circle that repeats after ``period``, in the scan's sense of rotation, beginning behind the
    widest gap."""

    order: np.ndarray
    """The views' indices in this order."""
    along: Float64Array
    """Their angles in this order, rising from 0."""
    at: np.ndarray
    """The numbers of their places in this order, rising from 0."""
    gap: float
    """The widest gap between neighbours, rad."""
    hole: float
    """The widest of the other gaps between places, rad; as are the next two, 0 where there is a single place."""
    step: float
    """Their mean."""
    usual: float
    """The same, where one is far wider than most of those that are left without their widest tenth."""
    sense: int
    """1 where the angles rise, -1 where they fall."""

    @classmethod
    def of(cls, angles: Float64Array, period: float) -> Arc:
        sense = -1 if len(angles) > 1 and np.median(np.diff(angles)) < 0 else 1
        # Without rounding, an angle just below 0 or the period would open a gap of nearly a whole period.
        place = np.round(sense * (angles - angles[0]) / period, 12) % 1 * period
        order = np.argsort(place, kind="stable")
        sorted_places = place[order]
        gaps = np.diff(sorted_places, append=sorted_places[0] + period)
        widest = int(np.argmax(gaps))
        order = np.roll(order, -widest - 1)
        along = (place[order] - place[order[0]]) % period
        at = _places(along)
        others = np.sort(np.roll(gaps, -widest - 1)[:-1][np.diff(at) > 0])
        hole, step = (float(of(others)) if others.size else 0.0 for of in (np.max, np.mean))
        usual = float(others[: len(others) - max(len(others) // 10, len(others) > 1)].mean()) if others.size else 0.0
        usual = step if hole <= 2 * _SPARSE * usual else usual
        return cls(order, along, at, float(gaps[widest]), hole, step, usual, sense)

    @property
    def span(self) -> float:
        """From the first view to the last, rad."""
        return float(self.along[-1])

    @property
    def turned(self) -> Float64Array:
        """The angle of each view since the first one."""
        return self._by_view(self.along)

    def closes(self, lost: float) -> bool:
        """Whether the views go all the way round, but for a gap of at most ``lost``."""
        return self.gap <= max(_SPARSE * self.usual, lost)

    def shares(self, closed: bool) -> Float64Array:
        """The angle around each view that is nearer to it than to other views, and for the views at one place equal
        parts of what is nearer to the place; where the arc is not ``closed``, the first and the last place reach half a
        step beyond it."""
        end = self.gap if closed else self.step
        gaps = np.concatenate([[end], np.diff(self.along), [end]])
        of_places = np.bincount(self.at, (gaps[1:] + gaps[:-1]) / 2) / np.bincount(self.at)
        return self._by_view(of_places[self.at])

    def _by_view(self, values: Float64Array) -> Float64Array:
        found = np.empty(len(values))
        found[self.order] = values
        return found
