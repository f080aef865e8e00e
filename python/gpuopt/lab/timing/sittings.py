"""What changes between sittings: runs of fresh processes, on other days, after other work.

An interval over the blocks of one sitting says nothing about the next one: clocks, places in memory and neighbours are
others then, and they change more slowly than a sitting lasts. How much is known only from several sittings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpuopt._core import ParameterError

# Student's t, the quantile 0.975, for 1 to 20 degrees of freedom: a history holds no more sittings.
_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)


class Spread(NamedTuple):
    """The standard deviation of logarithms between sittings (0.02: two percent), and how many sittings tell it."""

    sd: float
    sittings: int


def t_quantile(freedom: int) -> float:
    """Student's t at 97.5 %; above 20 degrees of freedom that of 20, which is wider. Raises ParameterError below 1."""
    if freedom < 1:
        raise ParameterError(f"freedom: {freedom} degrees of freedom give no interval; take at least two sittings")
    return _T_975[min(freedom, len(_T_975)) - 1]


def spread_of(groups: Sequence[Sequence[float]]) -> Spread | None:
    """The spread of values between sittings, each group being one quantity in several sittings, pooled over the groups.

    None where no group has two values. The groups of one sitting move together: ``sittings`` is the number of values
    of the longest group, not their sum.
    """
    logs = [np.log(np.asarray(group, dtype=np.float64)) for group in groups if len(group) > 1]
    if not logs:
        return None
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in logs)
    return Spread(math.sqrt(squares / sum(values.size - 1 for values in logs)), max(values.size for values in logs))


def between_sittings(median: float, lo: float, hi: float, spread: float, sittings: int) -> tuple[float, float]:
    """The interval in which the median of another sitting lies (95 %): this sitting's [``lo``, ``hi``], widened.

    ``spread`` is the standard deviation of the logarithms of medians between ``sittings`` sittings. Two medians of that
    spread differ by sqrt(2) of it; Student's t answers for so few sittings. Both widths are added as squares, in
    logarithms. Raises ParameterError for an interval that does not hold its median, and below two sittings.
    """
    if not 0 < lo <= median <= hi < math.inf:
        raise ParameterError(f"median={median} of [{lo}, {hi}]: expected 0 < lo <= median <= hi")
    if not 0 <= spread < math.inf:
        raise ParameterError(f"spread={spread}: expected a standard deviation of logarithms, such as 0.02")
    apart = t_quantile(sittings - 1) * math.sqrt(2.0) * spread
    down, up = math.hypot(math.log(median / lo), apart), math.hypot(math.log(hi / median), apart)
    return median * math.exp(-down), median * math.exp(up)
