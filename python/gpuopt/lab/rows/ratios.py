"""Ratios of times between two rows of a study, with their intervals and verdicts."""

from __future__ import annotations

from dataclasses import dataclass

from gpuopt.lab.rows.groups import Group, is_baseline
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import spread
from gpuopt.lab.timing import statistics


@dataclass(frozen=True)
class Ratio:
    """A ratio of times (row / reference) with its interval; `verdict` is None where no 95 % interval exists."""

    mid: float
    lo: float | None
    hi: float | None
    verdict: str | None
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
        """Whether the interval alone lies beyond the band: a verdict may still fall to the number of comparisons."""
        band = max(band, statistics.BAND_FLOOR)
        return bool(self.lo and self.hi and (self.hi < 1 - band or self.lo > 1 + band))


def ratio_between(group: Group, row: Row, reference: Row) -> Ratio:
    """The ratio of the two rows' times: the stored one against the baseline, else paired over their common blocks.

    Both ratios of a block are held against the same sentinels, so their quotient is paired. Without common blocks the
    intervals of the rows are divided, which is wider than the truth.
    """
    if is_baseline(reference, row) and row.get("ratio"):
        limits = (row.get("ratio_lo"), row.get("ratio_hi")) if row.get("verdict") else (None, None)
        return Ratio(float(row["ratio"]), *limits, row.get("verdict"), int(row.get("blocks") or 0))
    for key in ("ratio", "median_ms"):
        mine, theirs = by_block(group, row, key), by_block(group, reference, key)
        common = sorted(mine.keys() & theirs.keys())
        if common:
            ci = statistics.ratio_ci([mine[block] / theirs[block] for block in common])
            if not ci.reached:
                return Ratio(ci.median, None, None, None, len(common))
            return Ratio(ci.median, ci.lo, ci.hi, statistics.verdict(ci.lo, ci.hi, group.band), len(common))
    mid = float(row["median_ms"]) / float(reference["median_ms"])
    times = [float(r[key]) for r in (row, reference) for key in ("ci_lo_ms", "ci_hi_ms") if r.get(key) is not None]
    if row.get("kind") != "summary" or reference.get("kind") != "summary" or len(times) < 4:
        return Ratio(mid, None, None, None, 0)
    lo, hi = statistics.divide((times[0], times[1]), (times[2], times[3]))
    return Ratio(mid, lo, hi, statistics.verdict(lo, hi, group.band), 0)


def by_block(group: Group, row: Row, key: str) -> dict[tuple[int, str], float]:
    """The row's `key` in each of its good blocks, which the baseline tells apart as well."""
    return {
        (int(block["block"]), str(block.get("baseline"))): float(block[key])
        for block in group.blocks
        if block.get("status") == "ok"
        and block.get("block") is not None
        and block.get("role", "variant") == row.get("role", "variant")
        and block.get("configuration") == row.get("configuration")
        and block.get(key)
    }
