"""What a table says of its times' intervals: for how long they hold."""

from __future__ import annotations

from collections.abc import Sequence

from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import significant
from gpuopt.lab.rows.taken_over import sittings_of


def held(blocks: Sequence[Row]) -> str:
    """`hold within this sitting`, or of how many sittings the blocks are."""
    count = sittings_of(blocks)
    return "hold within this sitting" if count == 1 else f"are of {count} sittings, and hold within these"


def footers(rows: Sequence[Row], blocks: Sequence[Row] = ()) -> list[tuple[str, str]]:
    """That intervals of times are of one sitting, or of which, and how far another sitting's medians may lie, where the
    profile told a spread; none for rows without intervals."""
    within = f"95 % intervals of times {held(blocks)}"
    if not any(row["ci_lo_ms"] for row in rows):
        return []
    widths = []
    for row in rows:
        lo, hi, mid = row["sit_lo_ms"], row["sit_hi_ms"], row["median_ms"]
        if lo and hi and mid:
            widths.append(max(mid / lo, hi / mid) - 1.0)
    if not widths:
        return [("time", f"{within}; several sittings of `gpuopt profile` tell how far another one's lie")]
    least, most = (f"{significant(100 * width, 2)} %" for width in (min(widths), max(widths)))
    told = least if least == most else f"{least} to {most}, by row"
    return [("time", f"{within}; the medians of another one lie within {told}")]
