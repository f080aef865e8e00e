"""The numbers that claims are held against: of rows, with 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.ratios import ratio_by_one_clock
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.schema import field as field_of
from gpuopt.lab.timing import statistics
from gpuopt.papers.claims import Test

TOO_FEW = "too few blocks"


@dataclass(frozen=True)
class Number:
    """A number with its 95 % interval; ``lo`` and ``hi`` are None where there is none."""

    mid: float
    lo: float | None = None
    hi: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.lo is None or self.hi is None else (self.lo, self.hi)


def compared_number(test: Test, group: Group | None, row: Row, over: Row | None) -> tuple[Number | None, str]:
    """The number that is compared, None where the rows do not tell it; and why it has no interval where it has none."""
    if test.quantity == "speedup" and group is not None and over is not None:
        ratio = ratio_by_one_clock(group, row, over)
        if ratio is None:
            return None, ""
        return _positive(_inverse(Number(ratio.mid, ratio.lo, ratio.hi))), ratio.refused or TOO_FEW
    return _unpaired(test, row, over), TOO_FEW


def _unpaired(test: Test, row: Row, over: Row | None) -> Number | None:
    """The number where there are no blocks to pair: of one row, of two rates, and of points, which no blocks have."""
    if over is None:
        return _positive(_quantity(row, test.quantity))
    if test.quantity != "speedup":
        above, below = _quantity(row, test.quantity), _quantity(over, test.quantity)
    else:
        alike = (row["sizes"] or {}) == (over["sizes"] or {})
        above, below = (_time(over), _time(row)) if alike else (_quantity(row, "gb_s"), _quantity(over, "gb_s"))
    return None if above is None or below is None else _positive(_quotient(above, below))


def _positive(number: Number | None) -> Number | None:
    """The number, where it and its interval are above 0 and finite: damaged rows may have others."""
    if number is None or not (math.isfinite(number.mid) and number.mid > 0):
        return None
    ends = number.interval
    if ends is None or not all(math.isfinite(end) and end > 0 for end in ends):
        return Number(number.mid)
    return number


def _inverse(number: Number) -> Number:
    lo, hi = (1 / number.hi, 1 / number.lo) if number.lo and number.hi else (None, None)
    return Number(1 / number.mid if number.mid else math.inf, lo, hi)


def _quotient(above: Number, below: Number) -> Number:
    if not below.mid:
        return Number(math.inf)
    if above.interval is None or below.interval is None or min(*above.interval, *below.interval) <= 0:
        return Number(above.mid / below.mid)
    return Number(above.mid / below.mid, *statistics.divide(above.interval, below.interval))


def _time(row: Row) -> Number | None:
    return None if row["median_ms"] is None else Number(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"])


def _quantity(row: Row, name: str) -> Number | None:
    """A rate or a share of a row, with the interval of its time."""
    value, time = field_of(row, name), _time(row)
    if not isinstance(value, (int, float)) or time is None:
        return None
    if name == "pct_bound" and row["pct_lo"] is not None and row["pct_hi"] is not None:
        return Number(value, row["pct_lo"], row["pct_hi"])
    if row["kind"] not in ("summary", "point") or not time.lo or not time.hi:
        return Number(value)
    slow, fast = time.mid / time.hi, time.mid / time.lo
    return (
        Number(value, value / fast, value / slow) if name == "latency_ns" else Number(value, value * slow, value * fast)
    )
