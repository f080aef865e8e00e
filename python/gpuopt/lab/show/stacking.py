"""Whether optimizations stack: what each brings alone, together, and in the company of all others.

Each parameter with two levels is a factor: at its first level off, at the other on. The logarithm of the speed-up over
the configuration with all of them off is split into effects of the factors and of their pairs, block by block, and
intervals are over blocks. Box, Hunter and Hunter, *Statistics for Experimenters* (2005), chapters 5 and 6; shares of
the whole gain are Shapley's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.groups import where
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import significant
from gpuopt.lab.show import certainty, header
from gpuopt.lab.show.cells import On, blocks_of, factors_of, visits_of
from gpuopt.lab.show.effects import Effect, estimable, tested, told
from gpuopt.lab.timing import statistics

if TYPE_CHECKING:
    from gpuopt.lab.show.stacking_picture import Gain
    from gpuopt.lab.show.style import Picture

ORDERS = 5  # factors up to which hill climbing is replayed in every order; above, in SOME of them
SOME = 200


@checked
@dataclass(frozen=True)
class Stacking:
    """How the factors of a kernel stack; ``speedups`` are over the configuration with all of them off, medians over
    blocks (of their logarithms: of an even number, the geometric mean of the two in the middle). ``missing`` are cells
    that were not measured, ``unknown`` effects that cannot be told without them; ``blocks`` are the speed-ups of each
    block, in its order, which intervals are made of. Products and ratios of cells
    are medians over blocks too, of the product or ratio in each block; where there are no blocks, they are of
    ``speedups``. ``about`` is the problem and the device; ``refused`` says why no effect has a verdict, where the
    study's rows have none. Raises ParameterError for unknown factors, and speed-ups or blocks that cannot be. Effects
    are those of Box, Hunter and Hunter, *Statistics for Experimenters* (2005), chapters 5 and 6, shares Shapley's.

    Examples
    --------
    >>> speedups = {frozenset(): 1.0, frozenset({"A"}): 2.0, frozenset({"B"}): 1.5, frozenset({"A", "B"}): 2.4}
    >>> found = lab.Stacking("made_up", ("A", "B"), {"A": (0, 1), "B": (0, 1)}, speedups, effects=())
    >>> found.product, found.together  # the two overlap
    (3.0, 2.4)
    >>> found.alone("A"), round(found.left_out("A"), 2)
    (2.0, 1.6)
    >>> found.climbs()  # both orders end at the best
    {1.0: 2}
    """

    variant: str
    factors: tuple[str, ...]
    levels: Mapping[str, tuple[Any, Any]]
    speedups: Mapping[On, float]
    effects: tuple[Effect, ...]
    missing: tuple[On, ...] = ()
    unknown: tuple[tuple[str, ...], ...] = ()
    blocks: Mapping[On, tuple[float, ...]] = field(default_factory=dict)
    about: str = ""
    refused: str = ""

    def __post_init__(self) -> None:
        if not self.factors:
            raise ParameterError("factors: there are none; name at least one")
        if lacking := [name for name in self.factors if len(self.levels.get(name, ())) != 2]:
            raise ParameterError(f"levels: {lacking[0]} has none; give its levels off and on")
        if frozenset() not in self.speedups:
            raise ParameterError("speedups: there is none of all factors off, frozenset(); give it, 1.0")
        for on, speed in self.speedups.items():
            for name in on:
                self._known("speedups", name)
            if not 0 < speed < math.inf:
                raise ParameterError(
                    f"speedups: {speed} with {', '.join(sorted(on)) or 'all off'}; give numbers above 0"
                )
        if not math.isclose(self.speedups[frozenset()], 1):
            raise ParameterError(f"speedups: {self.speedups[frozenset()]} with all off, which they are over; give 1.0")
        for effect in self.effects:
            for name in effect.factors:
                self._known("effects", name)
        for on, of_blocks in self.blocks.items():
            self._check_blocks(on, of_blocks)

    def _check_blocks(self, on: On, of_blocks: Sequence[float]) -> None:
        what, held = f"blocks: those with {', '.join(sorted(on)) or 'all off'}", self.speedups.get(on, 0)
        if len(of_blocks) != len(next(iter(self.blocks.values()))):
            raise ParameterError(f"{what} are {len(of_blocks)}, not as many as others; give one speed-up of each block")
        if not len(of_blocks) or not all(0 < speed < math.inf for speed in of_blocks):
            raise ParameterError(f"{what} are not all above 0; give at least one, and numbers above 0")
        if not math.isclose(mid := math.exp(float(np.median(np.log(of_blocks)))), held, rel_tol=1e-6):
            raise ParameterError(f"{what} have the median {mid:g}; give it in speedups, not {held:g}")

    def _known(self, argument: str, name: str) -> None:
        """Raises ParameterError for a factor that is none of these."""
        if name not in self.factors:
            raise ParameterError(f"{argument}: there is no factor {name!r}; there are {', '.join(self.factors)}")

    @property
    def product(self) -> float | None:
        """What all would bring if the gains of each alone multiplied; None where one did not run alone."""
        return self._times([frozenset([name]) for name in self.factors])

    @property
    def together(self) -> float | None:
        """What all bring together."""
        return self._times([frozenset(self.factors)])

    def alone(self, name: str) -> float | None:
        """The speed-up of one alone, None where it did not run alone. Raises ParameterError for an unknown factor."""
        self._known("name", name)
        return self._times([frozenset([name])])

    def left_out(self, name: str) -> float | None:
        """How many times faster all are than all but this one: below 1 it harms in company. None where one of the two
        did not run. Raises ParameterError for an unknown factor."""
        self._known("name", name)
        every = frozenset(self.factors)
        return self._times([every], [every - {name}])

    def _times(self, over: Sequence[On], under: Sequence[On] = ()) -> float | None:
        """A product of cells over a product of others; None where one of them was not measured."""
        if any(on not in self.speedups for on in (*over, *under)):
            return None
        logs = self._logs(over, under)
        if logs is None:
            return math.prod(self.speedups[on] for on in over) / math.prod(self.speedups[on] for on in under)
        return math.exp(float(np.median(logs)))

    def _logs(self, over: Sequence[On], under: Sequence[On]) -> np.ndarray | None:
        """The logarithm of the same in each block; None where a cell has no blocks."""
        if any(on not in self.blocks for on in (*over, *under)):
            return None
        found = sum(np.log(self.blocks[on]) for on in over) - sum(np.log(self.blocks[on]) for on in under)
        return np.asarray(found)

    @cached_property
    def shares(self) -> dict[str, float] | None:
        """Shapley's share of each in the logarithm of what all bring; they add up to it. None with missing cells."""
        if len(self.speedups) < 2 ** len(self.factors):
            return None
        count, found = len(self.factors), {}
        for name in self.factors:
            others, share = [one for one in self.factors if one != name], 0.0
            for size in range(count):
                weight = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
                for chosen in itertools.combinations(others, size):
                    with_it, without = self.speedups[frozenset([*chosen, name])], self.speedups[frozenset(chosen)]
                    share += weight * math.log(with_it / without)
            found[name] = share
        return found

    def climbs(self, seed: int = 0) -> dict[float, int]:
        """Hill climbing replayed: the factors one after the other, each kept if it helps. By what is reached as a
        part of the best, in how many orders."""
        orders = list(itertools.permutations(self.factors)) if len(self.factors) <= ORDERS else None
        if orders is None:
            random = np.random.default_rng(seed)
            orders = [tuple(random.permutation(list(self.factors)).tolist()) for _ in range(SOME)]
        best = max(self.speedups.values())
        reached: dict[float, int] = {}
        for order in orders:
            on, speed = frozenset[str](), 1.0
            for name in order:
                found = self.speedups.get(on | {name})
                if found is not None and found > speed:
                    on, speed = on | {name}, found
            share = round(speed / best, 6)
            reached[share] = reached.get(share, 0) + 1
        return dict(sorted(reached.items(), reverse=True))

    def __str__(self) -> str:
        main = {effect.factors[0]: effect for effect in self.effects if len(effect.factors) == 1}
        cells = [("factor", "alone", "mean effect [95 % CI]", "in company", "share of all")]
        for name in self.factors:
            own = main.get(name)
            cells.append(
                (self._named(name), _x(self.alone(name)), told(own), _x(self.left_out(name)), self._share(name))
            )
        wide = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
        table = ["  ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]) for row in cells]
        pairs = [effect for effect in self.effects if len(effect.factors) == 2]
        lines = [f"NO VERDICTS: {self.refused}", ""] if self.refused else []
        lines += [*table, "", self._all()]
        lines += [f"{' with '.join(one.factors)}: {told(one)} of the product, {one.verdict}" for one in pairs]
        climbs = self.climbs()
        ends = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(climbs), max(climbs))))
        lines.append(
            f"Hill climbing reaches {ends} % of the best, the best itself in {climbs.get(1.0, 0)} of "
            f"{sum(climbs.values())} orders."
        )
        if self.unknown:
            lines.append("Not told, for cells are missing: " + ", ".join(" with ".join(one) for one in self.unknown))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def picture(self) -> Picture:
        """Each factor alone, on average and in company, all of them together beside the product of their gains alone,
        and what pairs bring beyond their product, with 95 % intervals."""
        from gpuopt.lab.show import stacking_picture as drawing

        every = frozenset(self.factors)
        main = {
            one.factors[0]: drawing.Gain(one.times, one.lo, one.hi) for one in self.effects if len(one.factors) == 1
        }
        lines = [
            drawing.Line(
                self._named(name),
                _told(
                    alone=self._gain([frozenset([name])]),
                    mean=main.get(name),
                    company=self._gain([every], [every - {name}]),
                ),
            )
            for name in self.factors
        ]
        product = self._gain([frozenset([name]) for name in self.factors])
        lines.append(drawing.Line("all", _told(product=product, together=self._gain([every]))))
        pairs = [
            drawing.Pair(" with ".join(one.factors), drawing.Gain(one.times, one.lo, one.hi), one.verdict)
            for one in self.effects
            if len(one.factors) == 2
        ]
        count = len(next(iter(self.blocks.values()), ()))
        return drawing.picture(
            f"Stacking · {self.variant}",
            [line for line in lines if line.gains],
            pairs,
            [
                f"Over all of them off, medians of {count} blocks with 95 % intervals; means and pairs by Student's t.",
                self.about,
                f"NO VERDICTS: {self.refused}" if self.refused else "",
            ],
        )

    def _gain(self, over: Sequence[On], under: Sequence[On] = ()) -> Gain | None:
        """A product of cells over a product of others, with its interval over blocks."""
        from gpuopt.lab.show.stacking_picture import Gain

        times, logs = self._times(over, under), self._logs(over, under)
        if times is None:
            return None
        found = None if logs is None else statistics.median_ci(logs)
        if found is None or not found.reached:
            return Gain(times)
        return Gain(times, math.exp(found.lo), math.exp(found.hi))

    def _named(self, name: str) -> str:
        off, on = self.levels[name]
        return f"{name} {off} -> {on}"

    def _share(self, name: str) -> str:
        total = math.log(self.together) if self.together else 0.0
        return "-" if self.shares is None or not total else f"{100 * self.shares[name] / total:.0f} %"

    def _all(self) -> str:
        together, product = _x(self.together), _x(self.product)
        return f"All together: {together}; if the gains of each alone multiplied: {product}."


@checked
def stacking(study: StudyRows, variant: str | None = None, base: Mapping[str, int | str] | None = None) -> Stacking:
    """How the two-level parameters of a kernel stack in a study of their combinations, all or some.

    ``variant`` is needed where the study has several. ``base`` names levels that count as off; what it leaves out is
    off at its level in the study's baseline, or in the first of the table where no combination that ran right has that
    level, and without a baseline. Raises ParameterError where a parameter has more than two levels, below three blocks,
    for a study of several devices or problems, and where no two combinations were measured in one environment: only
    such times are held against each other, by their ratios to the baseline where rows have them, so that one
    combination may be measured later than another. Where the study's rows are refused a verdict, for the machine was
    too busy or too noisy, all effects are undecided.

    Examples
    --------
    >>> row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made_up"}
    >>> times = {(0, 0): 12.0, (1, 0): 6.0, (0, 1): 8.0, (1, 1): 5.0}
    >>> rows = [row | {"block": block, "params": {"A": a, "B": b}, "median_ms": time}
    ...         for block in range(3) for (a, b), time in times.items()]
    >>> found = lab.stacking(lab.Study(rows))
    >>> [round(gain, 6) for gain in (found.alone("A"), found.alone("B"), found.together)]
    [2.0, 1.5, 2.4]
    """
    rows = [row for row in study.rows if row["kind"] == "block" and row["role"] == "variant" and row["status"] == "ok"]
    found = list(dict.fromkeys(str(row["variant"]) for row in rows))
    if variant is None and len(found) != 1:
        raise ParameterError(f"variant: the study has {', '.join(found) or 'none'}; name one")
    chosen = variant if variant is not None else found[0]
    rows = [row for row in rows if row["variant"] == chosen]
    if not rows:
        raise ParameterError(f"variant: the study has no blocks of {chosen!r}; it has {', '.join(found) or 'none'}")
    if len({where(row) for row in rows}) > 1:
        raise ParameterError("study: it is of several devices, problems or protocols; give a study of one")
    group = next(one for one in study.groups() if where(one.first) == where(rows[0]))
    names = {row["baseline"] for row in rows} - {None}
    rows = visits_of(group, chosen)
    off = [row for row in group.rows if row["variant"] == chosen and row["configuration"] in names]
    factors = factors_of(rows, dict(base or {}), off)
    about = header.dotted([header.title(group), group.device, group.first["protocol"]])
    made = _made(chosen, factors, blocks_of(group, rows, factors))
    why = certainty.refusals(row for row in group.rows if row["variant"] == chosen)
    undecided = tuple(replace(effect, verdict="undecided") for effect in made.effects)
    return replace(made, about=about, refused=why, effects=undecided if why else made.effects)


def _made(variant: str, factors: Mapping[str, tuple[Any, Any]], blocks: Sequence[Mapping[On, float]]) -> Stacking:
    names, cells = tuple(factors), list(blocks[0])
    gains = np.array([[math.log(block[frozenset()] / block[on]) for on in cells] for block in blocks])
    terms = [(name,) for name in names] + list(itertools.combinations(names, 2))
    signs = np.array([[1.0 if name in on else -1.0 for name in names] for on in cells])
    columns = [np.prod([signs[:, names.index(name)] for name in term], axis=0) for term in terms]
    design = np.stack([np.ones(len(cells)), *columns], axis=1)
    known = estimable(design)
    kept = [place for place in range(len(terms)) if known[place + 1]]
    reduced = design[:, [0, *(place + 1 for place in kept)]]
    solved = np.linalg.lstsq(reduced, gains.T, rcond=None)[0][1:]  # (terms, blocks), in +-1 coding
    # A factor's effect is the step from off to on, twice the coefficient c; a pair's AB is 2 c too, and what the pair
    # brings beyond the product of the two is exp(2 AB).
    scale = np.array([2.0 * len(terms[place]) for place in kept])
    effects = tested([terms[place] for place in kept], scale[:, np.newaxis] * solved)
    every = [frozenset(chosen) for size in range(len(names) + 1) for chosen in itertools.combinations(names, size)]
    medians = {on: float(np.exp(np.median(gains[:, place]))) for place, on in enumerate(cells)}
    return Stacking(
        variant,
        names,
        dict(factors),
        medians,
        effects,
        tuple(on for on in every if on not in medians),
        tuple(term for place, term in enumerate(terms) if place not in kept),
        {on: tuple(np.exp(gains[:, place]).tolist()) for place, on in enumerate(cells)},
    )


def _told(**gains: Gain | None) -> dict[str, Gain]:
    return {kind: gain for kind, gain in gains.items() if gain is not None}


def _x(value: float | None) -> str:
    return "-" if value is None else f"{significant(value)}x"
