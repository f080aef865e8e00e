"""Ratios of times between two rows of a study, with their intervals and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuopt.lab.rows.groups import Group, is_baseline
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.table import spread
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Verdict

PairedField = Literal["ratio", "median_ms"]  # what two rows can be held against each other by in one block


@dataclass(frozen=True)
class Ratio:
    """A ratio of times (row / reference) with its interval; `verdict` is None where no 95 % interval exists."""

    mid: float
    lo: float | None
    hi: float | None
    verdict: Verdict | None
    blocks: int

    @property
    def speedup(self) -> str:
        """`2.31x [2.25, 2.38]`, how many times faster than the reference."""
        lo, hi = (1 / self.hi, 1 / self.lo) if self.lo and self.hi else (None, None)
        return spread(1 / self.mid, lo, hi, "x")[0]

    @property
    def slowdown(self) -> str:
        """`1.38x [1.30, 1.45]`, the time as a multiple of the reference's; near 1 with a digit more."""
        return spread(self.mid, self.lo, self.hi, "x", digits=4 if 0.9 < self.mid < 1.1 else 3)[0]

    def __str__(self) -> str:
        return self.speedup

    def is_clear(self, band: float) -> bool:
        """Whether the interval lies outside the band; a verdict on one of many rows may still be AMBIGUOUS."""
        band = max(band, statistics.BAND_FLOOR)
        return bool(self.lo and self.hi and (self.hi < 1 - band or self.lo > 1 + band))


def ratio_between(group: Group, row: Row, reference: Row) -> Ratio:
    """The ratio of the two rows' times: the stored one against the baseline, else paired over their common blocks.

    Both ratios of a block are held against the same sentinels, so their quotient is paired. Without common blocks the
    intervals of the rows are divided, which is wider than the truth.
    """
    if is_baseline(reference, row) and row["ratio"]:
        limits = (row["ratio_lo"], row["ratio_hi"]) if row["verdict"] else (None, None)
        return Ratio(float(row["ratio"]), *limits, row["verdict"], int(row["blocks"] or 0))
    keys: tuple[PairedField, ...] = ("ratio", "median_ms")
    for key in keys:
        own, other = by_block(group, row, key), by_block(group, reference, key)
        common = sorted(own.keys() & other.keys())
        if common:
            ci = statistics.ratio_ci([own[block] / other[block] for block in common])
            if not ci.reached:
                return Ratio(ci.median, None, None, None, len(common))
            return Ratio(ci.median, ci.lo, ci.hi, statistics.verdict(ci.lo, ci.hi, group.band), len(common))
    mid = time_ms(row) / time_ms(reference)
    mine, theirs = _interval_ms(row), _interval_ms(reference)
    if row["kind"] != "summary" or reference["kind"] != "summary" or mine is None or theirs is None:
        return Ratio(mid, None, None, None, 0)
    lo, hi = statistics.divide(mine, theirs)
    return Ratio(mid, lo, hi, statistics.verdict(lo, hi, group.band), 0)


def _interval_ms(row: Row) -> tuple[float, float] | None:
    lo, hi = row["ci_lo_ms"], row["ci_hi_ms"]
    return None if lo is None or hi is None else (lo, hi)


def by_block(group: Group, row: Row, key: PairedField) -> dict[tuple[int, str], float]:
    """The row's `key` in each of its good blocks, by the block's number and baseline."""
    return {
        (block["block"], str(block["baseline"])): value
        for block in group.blocks
        if block["status"] == "ok"
        and block["block"] is not None
        and (block["role"] or "variant") == (row["role"] or "variant")
        and block["configuration"] == row["configuration"]
        and (value := block[key])
    }
