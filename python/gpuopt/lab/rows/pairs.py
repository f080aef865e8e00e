"""What pairs of rows of one group say together. Verdicts are the table's, or adjusted by Holm over all pairs that are
told beside them; of pairs without enough blocks in common each has its own. Two clocks give none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuopt.lab.rows.groups import Group, is_baseline
from gpuopt.lab.rows.ratios import Ratio, by_block, has_ratio_to, other_clock, ratio_between, why_elsewhere
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Verdict

Pair = tuple[Row, Row]  # a row, and what it is held against


@dataclass(frozen=True)
class Told:
    """A ratio of times with the verdict that may be told of it, and over how many comparisons it was adjusted."""

    ratio: Ratio
    together: int


def baseline_of(group: Group) -> Row | None:
    return next((row for row in group.rows if is_baseline(row, row)), None)


def compared_rows(group: Group) -> list[Row]:
    """The rows whose ratio is to the baseline's row beside them."""
    good = [row for row in group.rows if row["status"] == "ok" and row["ratio"] and not is_baseline(row, row)]
    return [row for row in good if elsewhere(group, row) is None]


def elsewhere(group: Group, row: Row) -> str | None:
    """Why the row's ratio was taken to a baseline that another run has replaced, None where it was to the baseline's
    row. A group may have several baselines, of sweeps that began with another variant."""
    base = next((one for one in group.rows if is_baseline(one, row)), None)
    return None if base is None else why_elsewhere(group, row, base)


def verdict_of(group: Group, row: Row) -> Verdict | None:
    """The table's verdict on a row, None where another clock timed the baseline."""
    return None if by_other_clock(group, row) else row["verdict"]


def by_other_clock(group: Group, row: Row) -> bool:
    """Whether the row's ratio to the baseline is across clocks, as in rows of before the baseline was timed by each."""
    base = baseline_of(group)
    return base is not None and row["method"] is None and other_clock(row, base)


def told_of(group: Group, pairs: Sequence[Pair]) -> list[Told]:
    """What is told of each of these pairs, the verdicts adjusted together. A pair with the baseline has the table's."""
    found = [ratio_between(group, *pair) for pair in pairs]
    paired: dict[str, list[float]] = {}
    for index, ((row, reference), ratio) in enumerate(zip(pairs, found, strict=True)):
        if ratio.verdict is not None and not ratio.refused and not _stored(group, row, reference):
            own, other = by_block(group, row, "ratio"), by_block(group, reference, "ratio")
            common = [block for block in own if block in other]
            if len(common) >= statistics.MIN_BLOCKS:
                paired[str(index)] = [own[block] / other[block] for block in common]
    adjusted = statistics.verdicts(paired, group.band)
    compared = len(compared_rows(group))
    out = []
    for index, ((row, reference), ratio) in enumerate(zip(pairs, found, strict=True)):
        word = adjusted.get(str(index), ratio.verdict)
        out.append(Told(replace(ratio, verdict=word), compared if _stored(group, row, reference) else len(paired)))
    return out


def _stored(group: Group, row: Row, reference: Row) -> bool:
    """Whether the pair's verdict is the table's."""
    return has_ratio_to(group, row, reference) or has_ratio_to(group, reference, row)
