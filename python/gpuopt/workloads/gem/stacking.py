"""How the paper's authors would have found the best combination, replayed on the rows of the completed factorial: hill
climbing over the axes in every order, and their own elimination as we read it, both against trying everything.

The paper is Daga, Scogland and Feng, "Architecture-Aware Optimization on a 1600-core Graphics Processor", ICPADS 2011,
sections III.F and V.F.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import significant
from gpuopt.workloads.gem.gains import changes_from, gain_over_basic, group_with_basic, kernels
from gpuopt.workloads.gem.optimizations import AXES, NONE, OPTIMIZATIONS, names_of, together

Point = tuple[str, ...]  # an optimization, or NONE, for each axis
Axes = Mapping[str, tuple[str, ...]]
Gains = Mapping[Point, float]  # over the basic kernel; a point that cannot run is not there

# The optimizations of one kind, of which the elimination keeps one: the paper's sections V.C and V.D.
KINDS: Mapping[str, tuple[str, ...]] = {
    "local staging": ("RA", "LM", "RP"),
    "vector types": ("LU2", "LU4", "VASM2", "VASM4", "VAVM2", "VAVM4"),
}
SPLITTING, IMAGE, THREADS = "KS", "IM", "MT"


@dataclass(frozen=True)
class Found:
    """A combination: its optimizations, its gain over the basic kernel, and the product of their gains alone (None
    where one of them did not run alone)."""

    names: tuple[str, ...]
    gain: float
    product: float | None = None

    def __str__(self) -> str:
        promised = "" if self.product is None else f" ({significant(self.product)}x if gains multiplied)"
        return f"{' + '.join(self.names) or 'the basic kernel'}, {significant(self.gain)}x{promised}"


@dataclass(frozen=True)
class End:
    """Where hill climbing ends: in how many orders of the axes, and one of these orders."""

    found: Found
    orders: int
    order: tuple[str, ...]


@dataclass(frozen=True)
class Climbing:
    """Hill climbing in every order of the axes; ends by their gain, the best first."""

    ends: tuple[End, ...]

    @property
    def orders(self) -> int:
        return sum(end.orders for end in self.ends)

    @property
    def median(self) -> End:
        """Where the middle one of the orders ends."""
        passed = 0
        for end in self.ends:
            passed += end.orders
            if 2 * passed >= self.orders:
                return end
        raise AssertionError("there are orders")

    def share_from(self, gain: float) -> float:
        """The part of the orders that end at ``gain`` or more."""
        return sum(end.orders for end in self.ends if end.found.gain >= gain) / self.orders


@dataclass(frozen=True)
class Elimination:
    """The combinations that were kept, one after the other, and how many different ones were looked at."""

    kept: tuple[Found, ...]
    looked_at: int

    @property
    def end(self) -> Found:
        return self.kept[-1]


@checked
@dataclass(frozen=True)
class Replay:
    """What each way of combining optimizations finds among ``cells`` measured combinations. ``band`` is the noise: what
    lies within it of the best is as good as it."""

    cells: int
    axes: tuple[str, ...]
    best: Found
    climbing: Climbing
    beside_splitting: Elimination
    by_gains_alone: Elimination
    band: float

    def share(self, found: Found) -> float:
        """The speed of a combination as a part of that of the best."""
        return found.gain / self.best.gain

    def __str__(self) -> str:
        climbing, worst, median = self.climbing, self.climbing.ends[-1], self.climbing.median
        reached = climbing.share_from(self.best.gain / (1 + self.band))

        def told(found: Found) -> str:
            return f"{found}: {100 * self.share(found):.0f} % of the fastest"

        def eliminated(way: Elimination) -> str:
            steps = " -> ".join(f"{' + '.join(found.names)} {significant(found.gain)}x" for found in way.kept)
            return f"looks at {way.looked_at} combinations ({steps}) and ends at {told(way.end)}."

        lines = [
            f"Fastest of all {self.cells:,} combinations: {self.best}.",
            f"Hill climbing over {len(self.axes)} axes: {100 * reached:.0f} % of the {climbing.orders:,} orders end "
            f"within the noise ({100 * self.band:.1f} %) of the fastest.",
            f"The best order ({', '.join(climbing.ends[0].order)}) ends at {told(climbing.ends[0].found)}.",
            f"The median order ends at {told(median.found)}.",
            f"The worst order ({', '.join(worst.order)}) ends at {told(worst.found)}.",
            f"Elimination by what does best beside kernel splitting {eliminated(self.beside_splitting)}",
            f"Elimination by gains alone {eliminated(self.by_gains_alone)}",
        ]
        return "\n".join(lines)


# ---------------------------------------------------------------- on rows


@checked
def replay(study: Study, axes: Axes = AXES) -> Replay:
    """Replay hill climbing and the paper's elimination on a study with all combinations of the optimizations of
    ``axes``, such as that of ``gpuopt study gem --design factorial``.

    Gains are over the paper's basic kernel, paired over blocks. A combination that cannot run is one that no way
    reaches. Raises ParameterError where combinations were not asked for, for an axis of other names than optimizations
    and ``""``, or without ``""``, and as :func:`gpuopt.lab.gem_plots.stacking`.
    """
    _check(axes)
    group, basic = group_with_basic(study)
    gains = gains_of(group, basic, axes)
    return replayed(gains, axes, group.band)


def _check(axes: Axes) -> None:
    for axis, names in axes.items():
        if NONE not in names:
            raise ParameterError(f"axes: {axis!r} lacks the basic kernel's own level; give '' beside the optimizations")
        if unknown := [name for name in names if name not in (NONE, *OPTIMIZATIONS)]:
            raise ParameterError(
                f"axes: {axis!r} has {unknown[0]!r}, which is no optimization; give some of {', '.join(OPTIMIZATIONS)}"
            )


def gains_of(group: Group, basic: Row, axes: Axes = AXES) -> dict[Point, float]:
    """The gain of each combination of the optimizations of ``axes`` that ran. Raises ParameterError where one
    has no row at all."""
    good = kernels(group, basic)
    asked = {frozenset(changes_from(row, basic).items()) for row in group.rows if row["variant"] == "pairs"}
    gains: dict[Point, float] = {}
    missing, of_row = 0, {}
    for point in product(*axes.values()):
        levels = together(point)
        if levels is None:
            continue
        key = frozenset(levels.items())
        missing += key not in asked
        if key in good:
            if key not in of_row:
                of_row[key] = 1 / gain_over_basic(group, good[key], basic).mid
            gains[point] = of_row[key]
    if missing:
        raise ParameterError(f"study: it has no row of {missing} combinations; sweep them, as --design factorial does")
    return gains


# ---------------------------------------------------------------- on gains


def replayed(gains: Gains, axes: Axes, band: float = 0.0) -> Replay:
    """The same of gains by point; the basic kernel, NONE on all axes, must be one of them."""
    points = {_names(point): point for point in gains}  # two points may be one kernel
    best = max(points.values(), key=lambda point: gains[point])
    return Replay(
        cells=len(points),
        axes=tuple(axes),
        best=_found(best, gains, axes),
        climbing=hill_climbing(gains, axes),
        beside_splitting=elimination(gains, axes),
        by_gains_alone=elimination(gains, axes, alone=True),
        band=band,
    )


def hill_climbing(gains: Gains, axes: Axes) -> Climbing:
    """Climb from the basic kernel in every order of the axes, each axis once: take the fastest of its levels, fix it,
    go on with the next (section III.F, after Datta et al.). An axis keeps its level where no other is faster.

    Exact: paths that meet at the same point with the same axes to go are followed once and counted.
    """
    names = list(axes)

    @cache
    def climbed(point: Point, axis: int) -> Point:
        beside = [(*point[:axis], level, *point[axis + 1 :]) for level in axes[names[axis]]]
        # The first of equals is taken, and the point itself is first.
        return max([point, *(other for other in beside if other in gains)], key=lambda other: gains[other])

    @cache
    def ends(point: Point, left: frozenset[int]) -> dict[Point, tuple[int, tuple[int, ...]]]:
        if not left:
            return {point: (1, ())}
        found: dict[Point, tuple[int, tuple[int, ...]]] = {}
        for axis in sorted(left):
            for end, (count, order) in ends(climbed(point, axis), left - {axis}).items():
                before, first = found.get(end, (0, (axis, *order)))
                found[end] = (before + count, first)
        return found

    start = (NONE,) * len(names)
    merged: dict[tuple[str, ...], tuple[Point, int, tuple[int, ...]]] = {}
    for end, (count, order) in ends(start, frozenset(range(len(names)))).items():
        _, before, first = merged.get(_names(end), (end, 0, order))
        merged[_names(end)] = (end, before + count, first)
    return Climbing(
        tuple(
            End(_found(end, gains, axes), count, tuple(names[axis] for axis in order))
            for end, count, order in sorted(merged.values(), key=lambda item: -gains[item[0]])
        )
    )


def elimination(gains: Gains, axes: Axes, alone: bool = False) -> Elimination:
    """The paper's elimination policy, as section V.F is read here.

    1. Of each kind of optimization (``KINDS``: what section V.C keeps near, what section V.D does to the loop) the one
       is kept that does best beside kernel splitting; the others are eliminated, and all of a kind where none of them
       speeds it up. The paper keeps register preloading and scalar math, which win beside kernel splitting, although
       local memory and vector math win alone; ``alone`` takes the gains alone instead.
    2. What was kept is combined with kernel splitting, one kind after the other.
    3. Images are added. Where their texels do not go with the loads that were kept, images take their place: the paper
       has them as the better way to load vectors.
    4. The largest work-groups are added.

    Each of 2 to 4 is kept where it makes the combination faster: what does worse is eliminated. The paper does not list
    the 32 combinations that it tested.
    """
    looked_at: set[tuple[str, ...]] = set()

    def gain(*chosen: str) -> float:
        point = _point(chosen, axes)
        if point is None or point not in gains:
            return 0.0
        looked_at.add(_names(point))
        return gains[point]

    def better(so_far: tuple[str, ...], *options: tuple[str, ...]) -> tuple[str, ...]:
        """The first of the options that runs, if it is faster; else what there was."""
        option = next((option for option in options if gain(*option)), so_far)
        if gain(*option) <= gain(*so_far):
            return so_far
        stages.append(option)
        return option

    present = {name for levels in axes.values() for name in levels if name}
    combined: tuple[str, ...] = (SPLITTING,) if SPLITTING in present and gain(SPLITTING) else ()
    base = () if alone else combined
    stages = [combined]
    kept = []
    for names in KINDS.values():
        winner = max((name for name in names if name in present), key=lambda name: gain(*base, name), default=NONE)
        if winner and gain(*base, winner) > gain(*base):
            kept.append(winner)
    for name in kept:
        combined = better(combined, (*combined, name))
    if IMAGE in present:
        others = tuple(name for name in combined if name not in KINDS["vector types"])
        combined = better(combined, (*combined, IMAGE), (*others, IMAGE))
    if THREADS in present:
        combined = better(combined, (*combined, THREADS))
    points = [_point(chosen, axes) for chosen in stages]
    return Elimination(tuple(_found(point, gains, axes) for point in points if point is not None), len(looked_at))


def _point(chosen: tuple[str, ...], axes: Axes) -> Point | None:
    """The point of these optimizations; None where two are of one axis, exclude each other, or are of no axis."""
    point = tuple(next((name for name in levels if name and name in chosen), NONE) for levels in axes.values())
    return point if sorted(filter(None, point)) == sorted(chosen) and together(point) is not None else None


def _names(point: Point) -> tuple[str, ...]:
    return names_of(together(point) or {})


def _found(point: Point, gains: Gains, axes: Axes) -> Found:
    names = _names(point)
    alone = [gains.get(single) for name in names if (single := _point((name,), axes)) is not None]
    whole = prod(one for one in alone if one) if all(alone) and len(alone) == len(names) else None
    return Found(names, gains[point], whole)


__all__ = ["AXES", "Climbing", "Elimination", "End", "Found", "Replay", "elimination", "hill_climbing", "replay"]
