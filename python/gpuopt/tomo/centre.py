"""Where the axis of rotation falls on the detector, from views that lie half a turn apart: one is the other's mirror
image about the axis."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gpuopt._core import ArrayError, ParameterError
from gpuopt.checked import checked
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array
from gpuopt.tomo.geometry import Geometry
from gpuopt.tomo.kinds import Angles
from gpuopt.tomo.scans import Parallel

_FEWEST = 8  # columns
_PAIRS, _ROWS = 64, 16  # of views and detector rows that are looked at; more would tell little more
_GAP = 3  # steps between views over which a view is interpolated, or half of them extrapolated
_WIDEST = math.radians(10)  # No wider gap is: what moves by more than its own size shows twice in the view between.
_NEAR = math.radians(0.25)  # What is as near is the view itself, however far the next one is.
_SAME = 1e-8  # rad: what is left of a difference of whole turns
_TAPS = np.exp(-(np.arange(-4, 5) ** 2) / 2)  # a Gaussian of 1 pixel, so that a parabola fits between pixels
_NOISE = 1e-6  # of the variance: pairs are never more alike than that
_LEAST = 4  # pixels of an overlap that is judged: two numbers always correlate, and smoothing leaves few of a few


@checked
def find_centre(
    projections: np.ndarray, geometry: Geometry | Angles, limit: float = 0.4, *, units: str | None = None
) -> float:
    """The offset of the detector's middle from the axis of rotation of parallel beams, in pixels.

    Times the pixel's width in mm it is the ``offset`` along u of :func:`parallel2d` and :func:`parallel3d`. The axis
    falls on column (columns - 1) / 2 - offset, where column 0 is the centre of the first.

    Of two views half a turn apart one is the other's mirror image about the axis. The shift between them is that of the
    largest -m/2 ln(1 - r^2), where r is the correlation of the m pixels in which they overlap, over up to 64 pairs and
    16 rows; a parabola through the mean squared differences at the shifts beside it gives the part of a pixel. Angles
    may go round many times, in any order. A view that is missing is interpolated between two that are at most 3 usual
    steps and 10 degrees apart, or of which one is within a quarter of a degree. In a scan of half a turn the only pair
    are its ends, extrapolated linearly over half of such a gap. There, what overlaps must show both edges of the
    object, or structure. Of a head of Shepp and Logan with 1 % of noise, 180 views of 64 to 256 pixels that take means,
    the median and the largest error of 75 offsets within 5 % of the columns are 0.01 and 0.06 pixels in half a turn,
    0.003 and 0.01 in a full one; of a detector displaced by 10 to 24 %, 0.06 and 0.2. Line integrals of pixel centres
    alone jump at edges, and half a turn of them is off by 0.14.

    Parameters
    ----------
    projections
        Line integrals (view, u) or (view, v, u), float32 or float64, with at least 8 columns. Of more than 16 rows
        others than these may hold NaN.
    geometry
        The parallel scan, whose offset is ignored; or its view angles, or how many are spread over half a turn.
    limit
        How far the axis may lie from the detector's middle, as a part of its width, above 0 and below 0.5. Views must
        overlap by 5 pixels as well: of a detector of n columns the search ends at (n - 5) / 2 pixels from its middle.
    units
        Of angles, not beside a scan: "rad" or "deg"; None: radians, as in :func:`parallel2d`.

    Raises
    ------
    ParameterError, also where no views lie half a turn apart, measured or interpolated; ArrayError, also where the
    views show no structure, and where the axis lies beyond the end of the search

    Examples
    --------
    >>> scan = gt.parallel2d(np.arange(32) * np.pi / 16, det=24, offset=1.5)
    >>> body = gt.Ellipsoid(1.0, (5.0, 3.0, np.inf), centre=(1.0, 2.0, 0.0))
    >>> p = gt.Phantom(body).project(scan, 4)
    >>> abs(gt.find_centre(p, scan) - 1.5) < 0.1
    True
    """
    p = _scaled(_rows(projections))
    angles = _angles(geometry, len(p), units)
    if not 0 < checks.number("limit", limit, "a part of the detector's width") < 0.5:
        raise ParameterError(f"limit: {limit} is out of range; give a part of the width, above 0 and below 0.5")
    one, other = (_smooth(part) for part in _pairs(p, angles))
    return _most_alike(_Overlaps.of(one, other[..., ::-1]), p.shape[-1], limit) / 2


def _most_alike(sums: _Overlaps, columns: int, limit: float) -> float:
    """The shift at which views and their mirror images are most alike."""
    # The shifts beside the best one are judged, too.
    reach = min(2 * limit * columns, columns - _LEAST - 1)
    shifts = np.flatnonzero(np.abs(sums.shift) <= reach)
    alike = sums.likeness()
    if not alike[shifts].max() > 0:
        raise ArrayError(
            f"projections: views half a turn apart show nothing in common up to {reach / 2:g} pixels off; give rows "
            "that see the object, or the axis by hand, as offset"
        )
    best = int(shifts[int(np.argmax(alike[shifts]))])
    found = sums.between(best)
    if alike[best - 1 : best + 2].max() > alike[best] or abs(found) > reach:
        limited = reach == 2 * limit * columns
        ends = f"limit={limit} ends the search" if limited else "they hardly overlap"
        raise ArrayError(
            f"projections: {sums.shift[best] / 2:g} pixels off, where {ends}, views half a turn apart grow more alike "
            f"still: the axis lies beyond; give {'a larger limit, or ' * limited}the axis by hand, as offset"
        )
    return found


def _rows(projections: np.ndarray) -> np.ndarray:
    """Some rows (view, row, u), and finite."""
    projections = checks.lines(projections)
    views, columns = projections.shape[0], projections.shape[-1]
    if not projections.size or views < 2 or columns < _FEWEST:
        raise ArrayError(
            f"projections: {views} views of {columns} columns are too few; give at least 2 of at least {_FEWEST}"
        )
    p = projections.reshape(views, -1, columns)
    some = _spread(p.shape[1], _ROWS)
    found = p[:, some]
    if projections.ndim == 2:
        checks.finite("projections", found[:, 0], checks.DATA_AXES[2])
    else:
        checks.finite("projections", found, checks.DATA_AXES[3], rows=some)
    return found


def _spread(count: int, most: int) -> np.ndarray:
    """At most so many of ``count`` indices, evenly spread."""
    found: np.ndarray = np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
    return found


def _angles(geometry: Geometry | Angles, views: int, units: str | None) -> Float64Array:
    if isinstance(geometry, Parallel):
        if units is not None:
            raise ParameterError("units: the angles of a geometry are in radians; leave units out, or give the angles")
        found = geometry.angles
    elif hasattr(geometry, "detector"):
        raise ParameterError(f"geometry: {geometry!r} is not of parallel beams, for which this is; give its angles")
    else:
        found = checks.angles("geometry", geometry, math.pi, units=units)
    if len(found) != views:
        raise ParameterError(f"geometry: it has {len(found)} views, the projections {views}; give those of the scan")
    return found


def _pairs(p: np.ndarray, angles: Float64Array) -> tuple[np.ndarray, np.ndarray]:
    """Views and those half a turn later (pair, row, u). Raises ParameterError where there are none."""
    for t, order in (_rising(angles), _once_round(angles)):
        if (found := _half_a_turn_apart(p, t, order)) is not None:
            return found
    raise ParameterError(
        f"geometry: the angles span {math.degrees(t[-1] - t[0]):.4g} degrees, and no two views lie half a turn "
        f"apart, measured or between views of at most {_GAP} usual steps and {math.degrees(_WIDEST):.4g} degrees; give "
        "the axis by hand, as offset"
    )


def _rising(angles: Float64Array) -> tuple[Float64Array, np.ndarray]:
    """The angles, and the views' indices; of views at one angle the first."""
    t, order = np.unique(angles, return_index=True)
    return t, order


def _once_round(angles: Float64Array) -> tuple[Float64Array, np.ndarray]:
    """As ``_rising``, for angles of many turns as places on one, which begins behind its widest gap."""
    turn = 2 * math.pi
    t, order = _rising((angles - angles.min()) % turn)
    widest = int(np.argmax(np.diff(t, append=turn)))
    t = np.concatenate([t[widest + 1 :], t[: widest + 1] + turn])
    order = np.roll(order, -widest - 1)
    apart = np.diff(t, prepend=-turn) > _SAME
    return t[apart], order[apart]


def _half_a_turn_apart(p: np.ndarray, t: Float64Array, order: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """``_pairs`` of rising angles; None where there are none."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    tiny, widest = 1e-6 * step, min(_GAP * step, _WIDEST)
    first = np.flatnonzero(t + math.pi <= t[-1] + tiny)
    target = np.minimum(t[first] + math.pi, t[-1])
    above = np.clip(np.searchsorted(t, target), 1, len(t) - 1)
    aside = np.minimum(target - t[above - 1], t[above] - target)
    near = (t[above] - t[above - 1] <= widest + tiny) | (aside <= max(tiny, _NEAR))
    first, above, target = first[near], above[near], target[near]
    if len(first):
        kept = _spread(len(first), _PAIRS)
        return p[order[first[kept]]].astype(np.float64), _at(p, order, t, target[kept], above[kept])
    gap = t[0] + math.pi - t[-1]
    ends_far = max([*np.diff(t[:2]), *np.diff(t[-2:])], default=0.0) > _WIDEST + tiny
    if gap <= 0 or (gap > _NEAR and (ends_far or gap > widest + tiny)):
        return None
    # Both ends meet in the middle of the gap.
    last = len(t) - 1
    ends = (t[-1] + gap / 2, last), (t[0] - gap / 2, 1)
    late, early = (_at(p, order, t, np.array([at]), np.array([above])) for at, above in ends)
    return early, late


def _at(p: np.ndarray, order: np.ndarray, t: Float64Array, at: Float64Array, above: np.ndarray) -> np.ndarray:
    """Views at the angles ``at``, on the line through those at ``above`` and before."""
    w = ((at - t[above - 1]) / (t[above] - t[above - 1]))[:, np.newaxis, np.newaxis]
    found: np.ndarray = (1 - w) * p[order[above - 1]] + w * p[order[above]]
    return found


def _scaled(p: np.ndarray) -> np.ndarray:
    """Numbers of at most 1, whose fourth powers neither overflow nor vanish. A power of 2 rounds none of them."""
    return np.ldexp(p, -np.frexp(np.abs(p).max())[1])


def _smooth(p: np.ndarray) -> np.ndarray:
    """Views (pairs and rows as one axis, u), smoothed along u."""
    reach = len(_TAPS) // 2
    wide = np.pad(p.reshape(-1, p.shape[-1]), ((0, 0), (reach, reach)), mode="edge")
    n = p.shape[-1]
    return np.asarray(sum(tap * wide[:, i : i + n] for i, tap in enumerate(_TAPS / _TAPS.sum())))


class _Overlaps(NamedTuple):
    """Sums over the pixels i and i + shift in which two lots of views overlap, for every whole shift."""

    shift: np.ndarray
    pixels: np.ndarray
    covariance: Float64Array
    variances: tuple[Float64Array, Float64Array]
    difference: Float64Array
    """The mean squared difference."""

    @classmethod
    def of(cls, a: np.ndarray, b: np.ndarray) -> _Overlaps:
        n = a.shape[-1]
        shift = np.arange(-(n - 1), n)
        pixels = n - np.abs(shift)
        starts = [np.maximum(0, sign * shift) for sign in (-1, 1)]
        # Without the mean, so that little cancels.
        a, b = a - a.mean(), b - b.mean()
        sums = [_sums(x, start, pixels) for x, start in zip((a, b), starts, strict=True)]
        squares = [_sums(x**2, start, pixels).sum(axis=0) for x, start in zip((a, b), starts, strict=True)]
        size = 2 * n
        spectrum = (np.fft.rfft(a, size).conj() * np.fft.rfft(b, size)).sum(axis=0)
        product = np.fft.irfft(spectrum, size)[shift % size]
        covariance = product - (sums[0] * sums[1]).sum(axis=0) / pixels
        variances = [q - (s**2).sum(axis=0) / pixels for q, s in zip(squares, sums, strict=True)]
        difference = (squares[0] + squares[1] - 2 * product) / pixels
        return cls(shift, pixels, covariance, (variances[0], variances[1]), difference)

    def between(self, best: int) -> float:
        """The shift at the vertex of the parabola through the differences at a whole shift and those beside it."""
        before, here, after = self.difference[best - 1 : best + 2]
        bend = before - 2 * here + after
        part = 0.5 * (before - after) / bend if bend > 0 else 0.0
        return float(self.shift[best] + min(max(part, -1.0), 1.0))

    def likeness(self) -> Float64Array:
        """-m/2 ln(1 - r^2), 0 where r is not above 0."""
        one, other = self.variances
        floor = 1e-9 * max(float(one.max()), float(other.max()), 0.0)
        scale = np.sqrt(np.maximum(one, floor) * np.maximum(other, floor))
        r = np.divide(self.covariance, scale, out=np.zeros_like(scale), where=scale > 0)
        r2 = np.clip(r, 0, 1) ** 2
        found: Float64Array = -self.pixels / 2 * np.log(np.maximum(1 - r2, _NOISE))
        return found


def _sums(x: np.ndarray, start: np.ndarray, count: np.ndarray) -> Float64Array:
    """The sums (views, shifts) of ``count`` elements from ``start`` on."""
    along = np.concatenate([np.zeros((len(x), 1)), np.cumsum(x, axis=1)], axis=1)
    found: Float64Array = along[:, start + count] - along[:, start]
    return found
