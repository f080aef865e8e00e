"""Ratios of times between two rows of a study, with their intervals and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuopt.checked import methods_checked
from gpuopt.lab.rows.groups import Code, Group, code_of, is_baseline, is_earlier
from gpuopt.lab.rows.schema import Row, number_of, time_ms
from gpuopt.lab.rows.table import spread
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Verdict

PairedField = Literal["ratio", "median_ms", "wall_ms"]  # what two rows can be held against each other by in one block
_Block = tuple[int, str, Code | None, int]  # its number, its baseline and that one's code, its pass where that counts
ANOTHER_CLOCK = "another clock"


@methods_checked
@dataclass(frozen=True)
class Ratio:
    """A ratio of times (row / reference) with its interval; `verdict` is None where no 95 % interval exists, and for
    rows of two environments.

    `across` is whether the two were timed by two clocks: `mid` is then no ratio of times, and nothing follows from it.
    """

    mid: float
    lo: float | None
    hi: float | None
    verdict: Verdict | None
    blocks: int
    refused: str | None = None  # why there is no verdict, or AMBIGUOUS whatever the interval says
    across: bool = False

    @property
    def speedup(self) -> str:
        """`2.31x [2.25, 2.38]`, how many times faster than the reference; "another clock" where that is not known."""
        if self.across:
            return ANOTHER_CLOCK
        lo, hi = (1 / self.hi, 1 / self.lo) if self.lo and self.hi else (None, None)
        return spread(1 / self.mid, lo, hi, "x")[0]

    @property
    def slowdown(self) -> str:
        """`1.38x [1.30, 1.45]`, the time as a multiple of the reference's; near 1 with a digit more."""
        if self.across:
            return ANOTHER_CLOCK
        return spread(self.mid, self.lo, self.hi, "x", digits=4 if 0.9 < self.mid < 1.1 else 3)[0]

    def __str__(self) -> str:
        return self.speedup

    def is_clear(self, band: float) -> bool:
        """Whether the interval lies outside the band; a verdict on one of many rows may still be AMBIGUOUS."""
        below, above = statistics.band_ends(band)
        return bool(self.lo and self.hi and (self.hi < below or self.lo > above))


def ratio_between(group: Group, row: Row, reference: Row) -> Ratio:
    """The ratio of the two rows' times: the stored one of either to the other, else paired over their common blocks.

    Both ratios of a block are held against the same sentinels, so their quotient is paired. Without blocks the
    intervals of the rows are divided, which is wider than the truth; where both have some and none in common, they are
    of two runs, between which a device may change by more than these intervals tell, and there is no verdict. Two rows
    by different clocks have no ratio, but for the stored one of a comparison in which the baseline was timed by the
    other's clock too. Summaries of before ``method`` was a field have one, without a verdict: it holds the host's
    launches on one side alone. Of rows of two environments it is that of their times, without a verdict: a stored ratio
    is to another row than this reference. So it is where the baseline was another kernel's by that name, of before an
    edit.
    """
    across = other_clock(row, reference)
    if has_ratio_to(group, row, reference):
        limits = (row["ratio_lo"], row["ratio_hi"]) if row["verdict"] else (None, None)
        return Ratio(number_of(row, "ratio"), *limits, row["verdict"], int(row["blocks"] or 0), row["refused"])
    if has_ratio_to(group, reference, row):
        return inverse(ratio_between(group, reference, row))
    if across and not _are_earlier(row, reference):
        return Ratio(time_ms(row) / time_ms(reference), None, None, None, 0, across=True)
    if why := _why_unpaired(group, row, reference):
        return Ratio(time_ms(row) / time_ms(reference), None, None, None, 0, refused=why)
    refused = row["refused"] or reference["refused"]

    def judged(lo: float, hi: float) -> Verdict | None:
        if across:
            return None
        return "AMBIGUOUS" if refused else statistics.verdict(lo, hi, group.band)

    keys: tuple[PairedField, ...] = ("ratio", "median_ms")
    apart = False
    for key in keys:
        own, other = by_block(group, row, key), by_block(group, reference, key)
        common = [block for block in own if block in other]
        apart = apart or bool(own and other)
        if common:
            ci = statistics.ratio_ci([own[block] / other[block] for block in common])
            if not ci.reached:
                return Ratio(ci.median, None, None, None, len(common), across=across)
            return Ratio(ci.median, ci.lo, ci.hi, judged(ci.lo, ci.hi), len(common), refused, across)
    mid = time_ms(row) / time_ms(reference)
    if apart:
        why = refused or "no pass measured both"
        return Ratio(mid, None, None, None, 0, refused=why, across=across)
    mine, theirs = _interval_ms(row), _interval_ms(reference)
    if row["kind"] != "summary" or reference["kind"] != "summary" or mine is None or theirs is None:
        return Ratio(mid, None, None, None, 0, across=across)
    lo, hi = statistics.divide(mine, theirs)
    return Ratio(mid, lo, hi, judged(lo, hi), 0, refused, across)


def host_ratio(group: Group, row: Row, reference: Row) -> Ratio | None:
    """The ratio of two rows by the host's clock, where it timed one of them and the device's the other: over blocks in
    which one pass visited both, of the median of the one and of what the host's clock says of the other's visit, launch
    and wait included. None where no such block says both, and where the other's samples are of many runs: the host's
    time of one of these holds neither. Beside a run that is long enough for a sample of its own they are little."""

    def times(of: Row) -> dict[_Block, float]:
        return by_block(group, of, "median_ms" if of["clock"] == "wall" else "wall_ms")

    if not other_clock(row, reference) or "wall" not in (row["clock"], reference["clock"]):
        return None
    if any(one["clock"] == "batch" and one["batch_n"] != 1 for one in (row, reference)):
        return None
    if _why_unpaired(group, row, reference):
        return None
    own, other = times(row), times(reference)
    common = [block for block in own if block in other]
    if not common:
        return None
    ci = statistics.ratio_ci([own[block] / other[block] for block in common])
    refused = row["refused"] or reference["refused"]
    if not ci.reached:
        return Ratio(ci.median, None, None, None, len(common), refused)
    word = "AMBIGUOUS" if refused else statistics.verdict(ci.lo, ci.hi, group.band)
    return Ratio(ci.median, ci.lo, ci.hi, word, len(common), refused)


def ratio_by_one_clock(group: Group, row: Row, reference: Row) -> Ratio | None:
    """:func:`ratio_between`, of two clocks by the host's on both sides; None where they have no such ratio."""
    own = ratio_between(group, row, reference)
    if not own.across:
        return own
    return host_ratio(group, row, reference) or (own if own.lo is not None else None)


def has_ratio_to(group: Group, row: Row, reference: Row) -> bool:
    """Whether a comparison stored the row's ratio to the reference, and by one clock: rows of before ``method`` was a
    field may hold one across clocks. A block, which stands for a comparison that did not end, has one of its own."""
    by_one_clock = row["method"] is not None or not other_clock(row, reference)
    to_it = is_baseline(reference, row) and why_elsewhere(group, row, reference) is None
    return row["kind"] != "block" and to_it and bool(row["ratio"]) and by_one_clock


def why_elsewhere(group: Group, row: Row, base: Row) -> str | None:
    """Why the row of a baseline is not what the row's ratio was taken to, None where it is."""
    if other_environment(row, base):
        return "of another environment than the baseline"
    known, own = group.codes_of_baselines.get(id(row)), code_of(base)
    return "held against the baseline of other code" if known and own and own not in known else None


def _why_unpaired(group: Group, row: Row, reference: Row) -> str | None:
    """Why blocks of the two rows are not to be paired, None where they may be."""
    if other_environment(row, reference):
        return "they are of two environments"
    return "they were held against a baseline of two codes" if _other_baseline(group, row, reference) else None


def _other_baseline(group: Group, row: Row, reference: Row) -> bool:
    """Whether the two rows were held against one baseline of two codes alone, as far as rows tell of which."""
    if row["baseline"] != reference["baseline"]:
        return False
    one, other = group.codes_of_baselines.get(id(row)), group.codes_of_baselines.get(id(reference))
    return bool(one and other and one.isdisjoint(other))


def other_clock(row: Row, reference: Row) -> bool:
    """Whether the two rows were timed by different clocks, as far as they say by which."""
    return bool(row["clock"] and reference["clock"] and row["clock"] != reference["clock"])


def other_environment(row: Row, reference: Row) -> bool:
    """Whether the two rows are of two environments, as far as they say of which. Summaries of before ``method`` was a
    field count as of one: they are judged as they were written."""
    known = bool(row["env_hash"] and reference["env_hash"])
    return known and row["env_hash"] != reference["env_hash"] and not _are_earlier(row, reference)


def inverse(ratio: Ratio) -> Ratio:
    """The ratio seen from the reference."""
    lo, hi = (1 / ratio.hi, 1 / ratio.lo) if ratio.lo and ratio.hi else (None, None)
    turned: dict[Verdict | None, Verdict] = {"FAST": "SLOW", "SLOW": "FAST"}
    return Ratio(1 / ratio.mid, lo, hi, turned.get(ratio.verdict, ratio.verdict), ratio.blocks, ratio.refused)


def _are_earlier(row: Row, reference: Row) -> bool:
    return row["method"] is None and reference["method"] is None and (is_earlier(row) or is_earlier(reference))


def _interval_ms(row: Row) -> tuple[float, float] | None:
    lo, hi = row["ci_lo_ms"], row["ci_hi_ms"]
    return None if lo is None or hi is None else (lo, hi)


def by_block(group: Group, row: Row, key: PairedField) -> dict[_Block, float]:
    """The row's `key` in each of its good blocks, by the block's number, its baseline, that one's code and, of times,
    its pass: only a ratio, which is to the baseline's visits of its own pass, may be held against one of another."""
    found = {}
    for block in group.own_blocks(row):
        if (value := block[key]) and value > 0:
            of = (key != "ratio" and group.passes[id(block)]) or 0
            found[int(block["block"] or 0), str(block["baseline"]), group.against(block), of] = value
    return found
