"""What a series of samples shows over time, and the exact distributions of rank statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.timing import ranks, series
from gpuopt.lab.timing import statistics as st


@pytest.fixture
def random():
    return np.random.default_rng(20100614)


@pytest.mark.parametrize("n", [1, 2, 6, 37, 200, 1000])
def test_probabilities_and_slopes_are_those_of_scipy(random, n):
    stats = pytest.importorskip("scipy.stats", reason="SciPy is of the extra lab")
    np.testing.assert_allclose(
        ranks.binomial_half_cdf(n), stats.binom.cdf(np.arange(n + 1), n, 0.5), rtol=0, atol=1e-10
    )
    if 6 <= n <= 64:  # longer series are reduced to 64 medians first
        for _ in range(50):
            values, at_s = random.lognormal(size=n), np.sort(random.choice(2 * n, n)) * 0.1
            slope = stats.theilslopes(values, at_s).slope
            assert series.drift_pct_s(values, at_s=at_s) == pytest.approx(100 * slope / np.median(values), rel=1e-12)


@pytest.mark.parametrize("n", [1, 6, 10, 25, 40])
def test_signed_ranks_are_those_of_scipy(random, n):
    stats = pytest.importorskip("scipy.stats", reason="SciPy is of the extra lab")
    for _ in range(20):
        values = random.normal(0.3, 1.0, n)
        at_most = np.count_nonzero(ranks.walsh_averages(values) > 0)
        got = ranks.signed_rank_cdf(n)[at_most]
        assert got == pytest.approx(stats.wilcoxon(values, alternative="less", method="exact").pvalue, rel=1e-9)


def test_inversions_are_kendalls():
    stats = pytest.importorskip("scipy.stats", reason="SciPy is of the extra lab")
    for n in (2, 6, 9):
        values = np.random.default_rng(n).permutation(n)
        inversions = sum(values[i] > values[j] for i in range(n) for j in range(i + 1, n))
        expected = stats.kendalltau(np.arange(n), values, method="exact", alternative="greater").pvalue
        assert ranks.inversions_cdf(n)[inversions] == pytest.approx(expected, rel=1e-9)
    assert ranks.inversions_cdf(64)[-1] == pytest.approx(1.0)


def test_the_slopes_interval_covers_and_widens_for_ties(random):
    hits = 0
    for _ in range(400):
        found = series.slope(10.0 * random.lognormal(sigma=0.1, size=9))
        hits += found.lo <= 0.0 <= found.hi
    assert 0.94 <= hits / 400 <= 1.0
    same_time = series.slope(np.arange(6.0) + 1.0, at_s=[0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert (same_time.lo, same_time.hi) == (-math.inf, math.inf)


def test_autocorrelation_is_of_ranks():
    assert series.autocorrelation([1.0, 2.0]) is None
    assert series.autocorrelation([2.0] * 9) is None
    assert series.autocorrelation([1.0, 2.0] * 8) < -0.8
    ramp = np.arange(50.0)
    assert series.autocorrelation(ramp) == pytest.approx(series.autocorrelation(np.exp(ramp)))


def test_drift_is_found_under_noise_and_outliers(random):
    values = 10.0 * (1.0 + 0.1 * np.linspace(-0.5, 0.5, 200)) + random.normal(0.0, 0.1, 200)  # +10 % over 2 s
    values[::20] += 50.0
    summary = st.summarise(values, at_s=np.linspace(0.0, 2.0, 200))
    assert summary["drift_pct_s"] == pytest.approx(5.0, abs=1.0)
    assert "drift" in st.quality_flags(st.summarise(values))
    assert st.quality_flags(st.summarise(random.normal(10.0, 0.1, 200))) == []
    with pytest.raises(ParameterError, match="at_s"):
        series.drift_pct_s(values, at_s=[0.0, 1.0])


@pytest.mark.parametrize("n", [6, 12, 30, 200])
def test_plain_noise_is_no_drift(random, n):
    """Noise of 10 % has slopes of far more than 5 % over a short visit, by chance."""
    drifting = sum(
        "drift" in st.quality_flags(st.summarise(10 * random.lognormal(sigma=0.1, size=n))) for _ in range(300)
    )
    assert drifting / 300 <= 0.05


def test_drift_of_batches_counts_every_launch():
    ramp = np.linspace(1.0, 1.1, 100)
    assert series.drift_pct_s(ramp, batch=10) == pytest.approx(series.drift_pct_s(ramp) / 10.0)
    assert series.drift_pct_s(ramp * 1e-3) is None  # 0.1 ms in all


def test_two_modes(random):
    switch = random.random(200) < 0.3
    assert series.is_bimodal(random.normal(10.0, 0.2, 200) + 2.0 * switch + 100.0 * (random.random(200) < 0.02))
    for values in (
        random.normal(10.0, 0.3, 200),
        random.uniform(9.0, 11.0, 200),
        random.lognormal(size=200),
        10.0 + random.pareto(1.5, 200),
        10.0 + 0.001 * switch,  # two clock readings a step apart
        np.full(200, 3.0),
    ):
        assert series.is_bimodal(values, resolution=0.001) is False
    assert series.is_bimodal([1.0, 2.0] * 5) is None
