"""What GEM's optimizations gain over the paper's basic kernel, alone and together, and whether gains multiply.

The paper is Daga, Scogland and Feng, "Architecture-Aware Optimization on a 1600-core Graphics Processor", ICPADS 2011.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from gpuopt import papers
from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import altered
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import Group, where
from gpuopt.lab.rows.ratios import Ratio, by_block, ratio_between
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.table import significant
from gpuopt.lab.timing import statistics
from gpuopt.workloads.gem.optimizations import levels_of, names_of

BASIC = "paper:basic"
ONE = ("device", "unit", "driver", "problem", "data", "sizes")  # what rows of one device and problem have in common


@checked
@dataclass(frozen=True)
class Stack:
    """Several optimizations together: ``gain`` over the basic kernel, the ``product`` of their single gains, and
    ``share``, the ratio of the time to the one that the product promises; its verdict says SLOW where gains do not
    stack, AMBIGUOUS too where a row that it takes is refused a verdict."""

    names: str
    gain: float
    product: float
    share: Ratio

    def __str__(self) -> str:
        words = {"SLOW": "less than they promise", "FAST": "more than they promise", "SAME": "they multiply"}
        lo, hi = (f"{100 / end:.0f}" if end else "" for end in (self.share.hi, self.share.lo))
        interval = f" [{lo}, {hi}]" if lo and hi else ""
        return (
            f"{self.names}: {significant(self.gain)}x together, {significant(self.product)}x if gains "
            f"multiplied: {100 / self.share.mid:.0f} %{interval}, {words.get(str(self.share.verdict), 'undecided')}."
        )


@checked
def stacking(study: Study, size: int = 2) -> list[Stack]:
    """For each ``size`` optimizations that were measured together and each alone: whether their gains multiply.

    Paired over the blocks that all of them have, the least of the promised first; verdicts count how many are compared.
    Raises ParameterError for a study without a good row of ``paper:basic``, or of several devices or problems, and for
    a ``size`` below 1.
    """
    if size < 1:
        raise ParameterError(f"size: {size} is no number of optimizations; give 1 or more")
    group, basic = group_with_basic(study)
    measured = kernels(group, basic)
    found: dict[str, tuple[Row, list[Row], list[float]]] = {}
    for row in measured.values():
        names = names_of(changes_from(row, basic))
        if len(names) != size:
            continue
        alone = [single for name in names if (single := _single(measured, name)) is not None]
        if len(alone) == size:
            own, *others = [by_block(group, one, "ratio") for one in (row, *alone)]
            common = [block for block in own if all(block in other for other in others)]
            times = [own[block] / prod(other[block] for other in others) for block in common]
            found[" + ".join(names)] = (row, alone, times)
    verdicts = statistics.verdicts({names: times for names, (_, _, times) in found.items() if times}, group.band)
    stacks = []
    for together, (row, alone, times) in found.items():
        gain, promised = (
            1 / gain_over_basic(group, row, basic).mid,
            1 / prod(gain_over_basic(group, one, basic).mid for one in alone),
        )
        refused = next((why for one in (row, *alone, basic) if (why := one["refused"])), None)
        share = Ratio(promised / gain, None, None, None, 0, refused)
        if times:
            ci = statistics.ratio_ci(times)
            share = Ratio(ci.median, None, None, None, len(times), refused)
            if ci.reached:
                verdict = "AMBIGUOUS" if refused else verdicts[together]
                share = Ratio(ci.median, ci.lo, ci.hi, verdict, len(times), refused)
        stacks.append(Stack(together, gain, promised, share))
    return sorted(stacks, key=lambda stack: -stack.share.mid)


# ---------------------------------------------------------------- rows

Kernels = Mapping[frozenset[tuple[str, int]], Row]  # good rows of `pairs` by the levels that the basic kernel lacks


def group_with_basic(study: Study) -> tuple[Group, Row]:
    """The one group of rows that has a good basic kernel, and that kernel's row. Raises ParameterError where there is
    none or another one, and for rows of several devices or problems, whether or not the basic kernel ran there."""
    groups = [group for group in study.groups() if group.first["workload"] == "gem"]
    basics = ((group, row) for group in groups for row in group.rows if row["preset"] == BASIC)
    found = [(group, row) for group, row in basics if row["status"] == "ok"]
    if not found:
        raise ParameterError(
            f"study: it has no good row of {BASIC}, which speed-ups are over; sweep it beside the others"
        )
    if len(found) > 1:
        raise ParameterError(f"study: {len(found)} groups of rows have {BASIC}; make a Study of one group's rows")
    if (several := len({where(group.first, ONE) for group in groups})) > 1:
        raise ParameterError(f"study: rows of {several} devices or problems; make a Study of one's rows")
    return found[0]


def kernels(group: Group, basic: Row) -> Kernels:
    rows = [row for row in group.rows if row["variant"] == "pairs" and row["status"] == "ok"]
    return {frozenset(changes_from(row, basic).items()): row for row in rows}


def gain_over_basic(group: Group, row: Row, basic: Row) -> Ratio:
    return Ratio(1.0, 1.0, 1.0, "SAME", 0) if row is basic else ratio_between(group, row, basic)


def gain_ends(gain: Ratio) -> tuple[float, float, float]:
    """How many times as fast: low, middle, high."""
    mid = 1 / gain.mid
    return (1 / gain.hi, mid, 1 / gain.lo) if gain.lo and gain.hi else (mid, mid, mid)


def altered_levels(row: Row) -> dict[str, int]:
    return altered("gem", str(row["variant"]), levels(row))


def changes_from(row: Row, basic: Row) -> dict[str, int]:
    theirs = levels(basic)
    return {name: level for name, level in levels(row).items() if level != theirs.get(name)}


def _single(measured: Kernels, name: str) -> Row | None:
    return measured.get(frozenset(levels_of(name).items()))


def product_of_gains(group: Group, basic: Row, names: Sequence[str]) -> float | None:
    """The product of the single gains of optimizations, None where one of them was not measured alone."""
    measured = kernels(group, basic)
    gains = [1 / gain_over_basic(group, row, basic).mid for name in names if (row := _single(measured, name))]
    return prod(gains) if len(gains) == len(names) else None


def paper_product(names: Sequence[str]) -> float | None:
    """The same of the gains that the paper printed."""
    figures = {names_of(step.configuration.parameters): step.figures["speedup"] for step in papers.load("gem").steps}
    gains = [figures.get((name,)) for name in names]
    return prod(gain for gain in gains if gain) if all(gains) else None


__all__ = ["Stack", "stacking"]
