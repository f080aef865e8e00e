"""Verdicts in words: what a ratio shows, how large the noise was, and what it would take to say more or otherwise."""

from __future__ import annotations

import math

from gpuopt.lab.rows.pairs import Told
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.rows.table import percent_text, significant
from gpuopt.lab.timing import statistics

MOST_BLOCKS = 160  # a study of more blocks than this is not proposed
FAR = 0.5  # a margin as wide as this needs no remark
NO_VERDICT = "no verdict"
ALIKE = 0.01  # times that differ by less are told as about the same


def noise(band: float) -> str:
    """`± 34 %`, of the baseline held against itself."""
    return f"± {percent_text(max(band, statistics.BAND_FLOOR))}"


def about(ratio: Ratio) -> str:
    """`about 20 times faster than`, `about 1.3 times slower than`, `about as fast as`."""
    if abs(ratio.mid - 1) < ALIKE:
        return "about as fast as"
    times = 1 / ratio.mid if ratio.mid < 1 else ratio.mid
    return f"about {significant(times, 2 if times >= 2 else 3)} times {'faster' if ratio.mid < 1 else 'slower'} than"


def compared(name: str, against: str, told: Told, band: float) -> str:
    """One clause on a pair: its verdict, and the evidence that would reverse or give one."""
    ratio = told.ratio
    if ratio.across:
        return f"{name} and {against}{',' * (', ' in against)} were timed by two clocks, which give no ratio"
    if ratio.refused:
        return f"{name} took {ratio.slowdown} the time of {against} ({NO_VERDICT}: {ratio.refused})"
    if ratio.verdict == "FAST":
        return f"{name} is {ratio.speedup} faster than {against}{_stands(ratio)}"
    if ratio.verdict == "SLOW":
        return f"{name} takes {ratio.slowdown} the time of {against}{_stands(ratio)}"
    if ratio.verdict == "SAME":
        same = f"SAME, less than {100 * statistics.SAME_LIMIT:.0f} % apart"
        return f"{name} takes the same time as {against} (ratio of times {ratio.slowdown}: {same})"
    if ratio.verdict is None:
        found = f" ({ratio.blocks} common blocks, {statistics.MIN_BLOCKS} are needed)" if ratio.blocks else ""
        return (
            f"{name} took {ratio.slowdown} the time of {against}, without a 95 % interval{found}, so nothing is claimed"
        )
    lacking = f"; {needed}" if (needed := what_it_takes(told, band)) else ""
    if not excludes_one(ratio):
        return f"{name} is not told from {against} (ratio of times {ratio.slowdown}: the interval holds 1){lacking}"
    shown = ratio.speedup if ratio.mid < 1 else f"{ratio.slowdown} its time"
    measured = f"{name} was {about(ratio)} {against} ({shown})"
    if ratio.is_clear(band):
        together = f"{told.together} comparisons at once" if told.together > 1 else "it"
        return f"{measured}, but {ratio.blocks} blocks are too few to certify {together}{lacking}"
    return f"{measured}, but this run's noise ({noise(band)}) is too large to certify that{lacking}"


def excludes_one(ratio: Ratio) -> bool:
    return bool(ratio.lo and ratio.hi and (ratio.hi < 1 or ratio.lo > 1))


def margin(ratio: Ratio) -> float:
    """The noise band that the interval just clears, as a fraction; 0 where it holds 1."""
    if not excludes_one(ratio) or ratio.lo is None or ratio.hi is None:
        return 0.0
    return 1 / ratio.hi - 1 if ratio.hi < 1 else ratio.lo - 1


def what_it_takes(told: Told, band: float) -> str:
    """What would give an undecided ratio its verdict; empty where nothing can be said of it."""
    ratio = told.ratio
    if ratio.lo is None or ratio.hi is None or ratio.lo <= 0:
        return ""
    if ratio.is_clear(band):
        more = statistics.blocks_for(told.together) - ratio.blocks
        return f"it would take {more} more" if more > 0 else "it would take more blocks"
    if excludes_one(ratio) and margin(ratio) > statistics.BAND_FLOOR:
        return f"it would take a noise below {noise(margin(ratio))}"
    apart = abs(math.log(ratio.mid)) - math.log1p(max(band, statistics.BAND_FLOOR))
    blocks = math.ceil(ratio.blocks * (math.log(ratio.hi / ratio.lo) / 2 / apart) ** 2) if apart > 0 else 0
    if ratio.blocks < blocks <= MOST_BLOCKS:
        return f"at this spread it would take about {blocks} blocks"
    return f"any difference is below {significant(100 * max(1 - ratio.lo, ratio.hi - 1), 2)} %"


def _stands(ratio: Ratio) -> str:
    """What noise would reverse a verdict; not told where a quiet run and a busy one cannot differ by as much."""
    near = 0 < margin(ratio) < FAR
    return f" (only a noise above {noise(margin(ratio))} would undo that)" if near else ""
