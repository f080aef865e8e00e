"""The levels of a memory system, found in how fast ever larger working sets are read.

The curve of log rate over log size is cut into pieces, each flat or a slope, by the exact dynamic programme of optimal
partitioning (Jackson et al., IEEE Signal Processing Letters 12(2), 2005) with a penalty a parameter like that of
Schwarz's criterion (Yao, Statistics & Probability Letters 6, 1988). Flat pieces are levels; slopes, which a cache that
keeps a part of a set too large for it makes, lie between them. MT4G (Vanecek et al., 2025) finds its sizes by
Kolmogorov and Smirnov's test instead: that compares distributions of single loads' latencies, and a sweep of rates has
one number a size. Why this is not by a library of change points: docs/decisions/knees.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpuopt._core import ParameterError

CLOSEST = 1.3  # plateaus whose rates differ less are one: an H200 loses a factor of 1.2 and more within its L2
STEEPEST, DEEPEST = 0.25, 1.0  # octaves of rate that a plateau may lose an octave of size, and in all
NARROWEST = 0.9  # octaves: what is narrower is a step on the way down
LEAST_NOISE, USUAL_NOISE, MOST_NOISE = 0.02, 0.05, 0.15  # relative: believed at least, where too few tell, at most
PENALTY = 1.0  # of a parameter, in units of the logarithm of the number of points
FEW, DENSE = 5, 8  # points: below the first one point may be a level; from the second on one off the curve is a mishap

Points = Iterable[Sequence[float | None]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """One level of a memory system as a working-set sweep shows it.

    ``bytes`` is the knee, the largest working set that runs at the plateau's rate; None for the last level, which is
    memory. ``between`` are the neighbouring sizes of the sweep where the rate passes a third of the way down, in
    logarithms, to the next level's: no sweep knows more. ``rate_gb_s`` is the plateau's median, ``lo`` and ``hi`` hold
    the middle half of its points, with their own intervals where they have any.
    """

    bytes: float | None
    rate_gb_s: float
    lo: float
    hi: float
    between: tuple[float, float] | None = None


@dataclass(frozen=True)
class _Plateau:
    """The points ``first`` to ``last``, both included; ``height`` is the median log2 rate, ``octaves`` the width."""

    first: int
    last: int
    height: float
    octaves: float


def find(points: Points, closest: float = CLOSEST) -> list[Level]:
    """The levels in a working-set sweep, fastest first, memory (``bytes`` None) last; none where there is no point.

    ``points`` are (working set in bytes, rate in GB/s) or (bytes, rate, lo, hi), in any order, best 4 to 8 an octave.
    Points without a rate (None or NaN) are passed over; points of one size count as their median. Plateaus whose rates
    differ by less than the factor ``closest`` are one level. Rates that rise at the small end (launches cost more than
    the data) and single points off the curve make no level; neither does a plateau of less than an octave, nor a
    decline without any: all of that is memory at the rate of its far end. A decline of less than a quarter of an octave
    an octave is a plateau to this; one that goes on and on may be cut into several.

    The knee lies where the curve is a third of the way down in log rate, less half of the log distance to two thirds:
    nearly where the decline begins, without asking that of the noise. Half way down would be far beyond: a cache of C
    bytes that serves C/W of the loads of a larger set W is there at 1.5 to 1.6 C only. Knees found in made curves:
    0.97 C for a step, 1.0 C for that cache, 1.12 C for a straight decline from C to 2 C.

    Raises ParameterError for sizes and rates that are no positive numbers.
    """
    if not closest >= 1:
        raise ParameterError(f"closest: {closest} is no factor between rates; give at least 1, such as {CLOSEST}")
    sizes, rates, lows, highs = _tidy(points)
    if not sizes.size:
        return []
    x, y = np.log2(sizes), np.log2(rates)
    plateaus = _one_way_down(_plateaus(x, y), y, math.log2(closest))
    plateaus = _with_memory(plateaus, y, math.log2(closest))
    levels = []
    for number, plateau in enumerate(plateaus):
        inside = slice(plateau.first, plateau.last + 1)
        lo, hi = float(np.quantile(lows[inside], 0.25)), float(np.quantile(highs[inside], 0.75))
        rate = float(2.0**plateau.height)
        at, between = None, None
        if number + 1 < len(plateaus):
            at, between = _knee(x, y, plateau, plateaus[number + 1])
        levels.append(Level(at, rate, min(lo, rate), max(hi, rate), between))
    return levels


def _tidy(points: Points) -> tuple[Floats, Floats, Floats, Floats]:
    """Sizes in ascending order, each once, with rate, low and high."""
    read: dict[float, list[tuple[float, float, float]]] = {}
    for number, point in enumerate(points):
        values = [math.nan if value is None else float(value) for value in point]
        if len(values) not in (2, 4):
            raise ParameterError(f"points[{number}]: {tuple(point)}; give (bytes, rate) or (bytes, rate, lo, hi)")
        size, rate, *interval = values
        if not 0 < size < math.inf:
            raise ParameterError(f"points[{number}]: a working set of {size} bytes; give a positive number")
        if math.isnan(rate):
            continue
        if not 0 < rate < math.inf:
            raise ParameterError(f"points[{number}]: a rate of {rate} GB/s; give a positive number, NaN for none")
        low, high = interval if interval and not any(map(math.isnan, interval)) else (rate, rate)
        read.setdefault(size, []).append((rate, low, high))
    sizes = sorted(read)
    columns = np.array([np.median(read[size], axis=0) for size in sizes], dtype=np.float64).reshape(-1, 3)
    return np.array(sizes, dtype=np.float64), columns[:, 0], columns[:, 1], columns[:, 2]


def _plateaus(x: Floats, y: Floats) -> list[_Plateau]:
    """The flat pieces of the curve that are wide enough to be a level, in order."""
    noise = _noise(y)
    few = y.size < FEW
    if y.size >= DENSE:
        # The median of three keeps edges and slopes, and takes out single points.
        y = np.concatenate([y[:1], np.median([y[:-2], y[1:-1], y[2:]], axis=0), y[-1:]])
    edges = np.concatenate([x[:1] - _gap(x, 0), (x[1:] + x[:-1]) / 2, x[-1:] + _gap(x, -1)])
    found = []
    for first, last, slope in _pieces(x, y, noise):
        octaves = float(edges[last + 1] - edges[first])
        wide = few or (last > first and octaves >= NARROWEST)
        if wide and abs(slope) <= min(STEEPEST, DEEPEST / octaves):
            found.append(_Plateau(first, last, float(np.median(y[first : last + 1])), octaves))
    return found


def _gap(x: Floats, end: int) -> float:
    """Half of the distance between the two points at an end."""
    return float(abs(np.diff(x)[end])) / 2 if x.size > 1 else 0.5


def _noise(y: Floats) -> float:
    """The standard deviation of log2 rates: from second differences, which see neither plateaus nor slopes."""
    if y.size < DENSE:
        return USUAL_NOISE / math.log(2)
    bends = np.abs(y[2:] - 2 * y[1:-1] + y[:-2]) * math.log(2)
    return min(max(float(np.median(bends)) * 1.4826 / math.sqrt(6), LEAST_NOISE), MOST_NOISE) / math.log(2)


def _pieces(x: Floats, y: Floats, noise: float) -> list[tuple[int, int, float]]:
    """The cheapest cut of the curve: (first, last, slope), each piece a constant or, from three points on, a line."""
    n = y.size
    a_parameter = PENALTY * math.log(max(n, 2))
    u, v = x - x.mean(), y - y.mean()
    sums = [np.concatenate([[0.0], np.cumsum(part)]) for part in (u, v, u * u, u * v, v * v)]
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    back, slopes = np.zeros(n + 1, dtype=np.intp), np.zeros(n + 1)
    for end in range(1, n + 1):
        starts = np.arange(end)
        count = (end - starts).astype(np.float64)
        su, sv, suu, suv, svv = (part[end] - part[starts] for part in sums)
        flat = svv - sv * sv / count
        uu, uv = suu - su * su / count, suv - su * sv / count
        lines = count >= 3
        slope = np.where(lines, uv / np.where(lines, uu, 1.0), 0.0)
        tilted = np.where(lines, flat - slope * uv, np.inf)
        cost_flat = np.maximum(flat, 0.0) / noise**2 + 2 * a_parameter
        cost_tilted = np.maximum(tilted, 0.0) / noise**2 + 3 * a_parameter
        total = best[:end] + np.minimum(cost_flat, cost_tilted)
        start = int(np.argmin(total))
        best[end], back[end] = total[start], start
        slopes[end] = slope[start] if cost_tilted[start] < cost_flat[start] else 0.0
    pieces = []
    end = n
    while end:
        pieces.append((int(back[end]), end - 1, float(slopes[end])))
        end = int(back[end])
    return pieces[::-1]


def _one_way_down(plateaus: list[_Plateau], y: Floats, closest: float) -> list[_Plateau]:
    """Merges neighbours that are too close, the closest first, and leaves out what a faster plateau follows."""
    left = list(plateaus)
    while len(left) > 1:
        drops = [before.height - after.height for before, after in pairwise(left)]
        at = min(range(len(drops)), key=lambda i: abs(drops[i]))
        if abs(drops[at]) < closest:
            left[at : at + 2] = [_merged(left[at], left[at + 1], y)]
            continue
        rise = next((i for i, drop in enumerate(drops) if drop < 0), None)
        if rise is None:
            break
        # At the small end launches cost more than the data; further on the narrower of the two is the wiggle.
        del left[rise if rise == 0 or left[rise].octaves <= left[rise + 1].octaves else rise + 1]
    return left


def _merged(one: _Plateau, other: _Plateau, y: Floats) -> _Plateau:
    points = np.concatenate([y[one.first : one.last + 1], y[other.first : other.last + 1]])
    return _Plateau(one.first, other.last, float(np.median(points)), one.octaves + other.octaves)


def _with_memory(plateaus: list[_Plateau], y: Floats, closest: float) -> list[_Plateau]:
    """Adds the far end as a level where the sweep ended on the way down from the last plateau, or found none."""
    last = y.size - 1
    end = min(3, y.size) if y.size >= FEW else 1
    tail = _Plateau(y.size - end, last, float(np.median(y[-end:])), 0.0)
    if not plateaus:
        return [tail]
    beyond = last - plateaus[-1].last
    lower = plateaus[-1].height - tail.height >= closest
    return [*plateaus, tail] if lower and beyond >= min(2, end) else plateaus


def _knee(x: Floats, y: Floats, above: _Plateau, below: _Plateau) -> tuple[float, tuple[float, float]]:
    """The knee's size and the sizes of the sweep around the first third of the way down."""
    (third, around), (two_thirds, _) = (_passage(x, y, above, below, part) for part in (1 / 3, 2 / 3))
    log_size = third - max(0.0, two_thirds - third) / 2
    return float(2.0 ** max(log_size, x[above.first])), around


def _passage(x: Floats, y: Floats, above: _Plateau, below: _Plateau, part: float) -> tuple[float, tuple[float, float]]:
    """Where, as log2 size, the curve is ``part`` of the way down from plateau to plateau, and the sizes around."""
    target = above.height - part * (above.height - below.height)
    middle = (below.first + below.last + 1) // 2
    falls = [i for i in range(above.first, middle) if y[i] >= target > y[i + 1]]
    # A point off its plateau is a fall too: the one nearest to the gap between the plateaus counts.
    gap = (above.last + below.first) / 2
    i = min(falls, key=lambda i: abs(i + 0.5 - gap), default=above.last)
    share = (y[i] - target) / (y[i] - y[i + 1]) if y[i] > y[i + 1] else 0.5
    return float(x[i] + share * (x[i + 1] - x[i])), (float(2.0 ** x[i]), float(2.0 ** x[i + 1]))
