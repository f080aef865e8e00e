"""Intervals between sittings: their coverage in simulated sittings, and Student's t against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.sittings import between_sittings, spread_of, t_quantile


def test_students_t_is_scipys() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    for freedom in range(1, 21):
        assert t_quantile(freedom) == pytest.approx(scipy_stats.t.ppf(0.975, freedom), abs=6e-4)
    assert t_quantile(500) == t_quantile(20) > scipy_stats.t.ppf(0.975, 500)
    with pytest.raises(ParameterError, match="at least two sittings"):
        t_quantile(0)


def test_the_spread_is_of_logarithms_and_pooled() -> None:
    assert spread_of([[2.0], []]) is None
    one = spread_of([[1.0, math.e]])
    assert one is not None
    assert (one.sd, one.sittings) == (pytest.approx(math.sqrt(0.5)), 2)
    both = spread_of([[1.0, math.e], [5.0, 5.0, 5.0]])  # a factor between the two does not count
    assert both is not None
    assert (both.sd, both.sittings) == (pytest.approx(math.sqrt(0.5 / 3)), 3)


def ornstein_uhlenbeck(random: np.random.Generator, at_s: np.ndarray, sd: float, time_constant: float) -> np.ndarray:
    """Correlated noise at these times, stationary with this standard deviation."""
    value, found = random.normal(0, sd), []
    for step in np.diff(at_s, prepend=at_s[0]):
        kept = math.exp(-step / time_constant)
        value = kept * value + random.normal(0, sd * math.sqrt(1 - kept**2))
        found.append(value)
    return np.array(found)


@pytest.mark.parametrize(("slow", "between"), [(0.02, 0.0), (0.02, 0.03), (0.05, 0.01), (0.001, 0.05)])
def test_intervals_of_five_sittings_hold_each_others_medians(slow: float, between: float) -> None:
    """Noise with a time constant of 100 s within sittings of 20 s, and an effect of each sitting; the spread is that of
    these five sittings' ceilings, of which four are pooled. The interval within a sitting holds few of the medians."""
    random = np.random.default_rng(7)
    at_s = np.linspace(0, 20, 10)
    held = within = pairs = 0
    for _ in range(150):

        def sitting() -> statistics.MedianCI:
            noise = ornstein_uhlenbeck(random, at_s, slow, 100.0) + random.normal(0, 0.005, at_s.size)
            return statistics.median_ci(5.0 * np.exp(noise + random.normal(0, between)))

        ceilings = [[sitting().median for _ in range(5)] for _ in range(4)]
        spread = spread_of(ceilings)
        assert spread is not None
        taken = [sitting() for _ in range(5)]
        for one in taken:
            lo, hi = between_sittings(one.median, one.lo, one.hi, *spread)
            assert lo <= one.lo
            assert hi >= one.hi
            others = [other.median for other in taken if other is not one]
            held += sum(lo <= median <= hi for median in others)
            within += sum(one.lo <= median <= one.hi for median in others)
            pairs += len(others)
    assert held / pairs >= 0.9
    assert within / pairs < 0.75


def test_few_sittings_widen_and_bad_arguments_are_named() -> None:
    widths = [between_sittings(1.0, 0.99, 1.01, 0.02, count)[1] for count in (2, 3, 5, 20)]
    assert widths == sorted(widths, reverse=True)
    assert between_sittings(1.0, 0.99, 1.02, 0.0, 5) == pytest.approx((0.99, 1.02))
    with pytest.raises(ParameterError, match="lo <= median <= hi"):
        between_sittings(1.0, 1.01, 1.02, 0.02, 5)
    with pytest.raises(ParameterError, match="spread"):
        between_sittings(1.0, 0.9, 1.1, math.nan, 5)
    with pytest.raises(ParameterError, match="at least two sittings"):
        between_sittings(1.0, 0.9, 1.1, 0.02, 1)
