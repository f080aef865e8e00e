"""Golden numbers, properties and simulated coverage of the lab's statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.rows import schema
from gpuopt.lab.timing import statistics as st


@pytest.fixture
def random():
    return np.random.default_rng(20100614)


def first_order_process(random, n, rho):
    noise = random.normal(size=n + 50)
    for i in range(1, n + 50):
        noise[i] += rho * noise[i - 1]
    return noise[50:]


@pytest.mark.parametrize(("n", "j"), [(5, 0), (6, 1), (10, 2), (20, 6), (30, 10), (50, 18), (100, 40)])
def test_rank_of_the_median_interval(n, j):
    assert st.order_rank(n) == j
    values = np.random.default_rng(n).permutation(n) + 1.0
    if st.autocorrelation(values) < 0.3:
        ci = st.median_ci(values)
        assert (ci.lo, ci.hi) == (max(j, 1), n + 1 - max(j, 1))
        assert ci.reached is (n >= 6)


def test_rank_is_the_largest_that_holds():
    for n in (6, 7, 23, 64, 301):
        for confidence in (0.5, 0.9, 0.95, 0.99):
            j = st.order_rank(n, confidence)
            tail = [sum(math.comb(n, i) for i in range(k)) / 2**n for k in range(j + 2)]
            assert tail[j] <= (1 - confidence) / 2 * (1 + 1e-9) < tail[j + 1]


@pytest.mark.parametrize("n", [1, 2, 6, 37, 200, 1000])
def test_probabilities_and_slopes_are_those_of_scipy(random, n):
    stats = pytest.importorskip("scipy.stats", reason="SciPy is of the extra lab")
    np.testing.assert_allclose(st._binomial_half_cdf(n), stats.binom.cdf(np.arange(n + 1), n, 0.5), rtol=0, atol=1e-10)
    if 6 <= n <= 64:  # longer series are reduced to 64 medians first
        for _ in range(50):
            values, at_s = random.lognormal(size=n), np.sort(random.choice(2 * n, n)) * 0.1
            slope = stats.theilslopes(values, at_s).slope
            assert st.drift_pct_s(values, at_s=at_s) == pytest.approx(100 * slope / np.median(values), rel=1e-12)


def test_few_samples_are_flagged():
    for n in range(1, 6):
        ci = st.median_ci(np.arange(n) + 1.0)
        assert (ci.lo, ci.hi, ci.reached) == (1.0, float(n), False)
        assert ci.coverage == pytest.approx(1 - 2.0 ** (1 - n))
    assert st.median_ci(np.arange(6.0)).coverage == pytest.approx(1 - 2.0**-5)


def test_half_width_is_never_below_the_clock():
    ci = st.median_ci([1.0] * 30, resolution=0.001, batch=10)
    assert (ci.lo, ci.hi) == pytest.approx((1.0 - 0.00005, 1.0 + 0.00005))
    assert st.median_ci([1.0] * 30) == (1.0, 1.0, 1.0, ci.coverage, True, "order")


@pytest.mark.parametrize("n", [6, 10, 30])
def test_coverage_for_a_skewed_distribution(random, n):
    hits = sum(ci.lo <= 1.0 <= ci.hi for ci in (st.median_ci(random.lognormal(size=n)) for _ in range(600)))
    assert hits / 600 > 0.94


@pytest.mark.parametrize(("rho", "n"), [(0.5, 100), (0.8, 100)])
def test_coverage_under_autocorrelation(random, rho, n):
    hits = plain = 0
    for _ in range(200):
        values = first_order_process(random, n, rho)
        ci = st.median_ci(values, resamples=200)
        hits += ci.lo <= 0.0 <= ci.hi
        ordered, j = np.sort(values), st.order_rank(n)
        assert ci.lo <= ordered[j - 1]
        assert ci.hi >= ordered[n - j]
        plain += ordered[j - 1] <= 0.0 <= ordered[n - j]
    assert hits / 200 > 0.9 > plain / 200


def test_bootstrap_is_repeatable(random):
    values = first_order_process(random, 80, 0.7)
    assert st.median_ci(values).method == "block_bootstrap"
    assert st.median_ci(values) == st.median_ci(values)


@pytest.mark.parametrize("bad", [[], [1.0, math.nan], [1.0, math.inf], [[1.0, 2.0]], 3.0])
def test_bad_samples_are_named(bad):
    with pytest.raises(ParameterError, match="samples"):
        st.median_ci(bad)
    with pytest.raises(ParameterError, match="samples_ms"):
        st.summarise(bad)


def test_bad_confidence_is_named():
    with pytest.raises(ParameterError, match="confidence"):
        st.median_ci([1.0], confidence=95)


def test_autocorrelation_is_of_ranks():
    assert st.autocorrelation([1.0, 2.0]) is None
    assert st.autocorrelation([2.0] * 9) is None
    assert st.autocorrelation([1.0, 2.0] * 8) < -0.8
    ramp = np.arange(50.0)
    assert st.autocorrelation(ramp) == pytest.approx(st.autocorrelation(np.exp(ramp)))


def test_summary_of_known_samples():
    values = [4.0, 1.0, 3.0, 2.0, 10.0]
    summary = st.summarise(values, timer_ns=1000.0)
    times = {"min": 1.0, "q1": 2.0, "median": 3.0, "q3": 4.0, "p95": 8.8, "max": 10.0, "mad": 1.0}
    times |= {"ci_lo": 1.0, "ci_hi": 10.0}
    assert {name: summary[f"{name}_ms"] for name in times} == pytest.approx(times)
    assert summary["samples_ms"] == values
    assert (summary["n"], summary["batch_n"], summary["timer_ns"]) == (5, 1, 1000.0)
    assert summary["drift_pct_s"] is None
    assert summary["bimodal"] is None
    assert set(summary) == {*schema.GROUPS["time"], *schema.GROUPS["quality"]}
    assert st.quality_flags(summary) == []


def test_summary_scales_with_the_unit(random):
    values = random.lognormal(size=40)
    one, thousand = st.summarise(values), st.summarise(values * 1000.0)
    for field in ("min_ms", "q1_ms", "median_ms", "p95_ms", "mad_ms", "ci_lo_ms", "ci_hi_ms"):
        assert thousand[field] == pytest.approx(1000.0 * one[field])
    assert thousand["autocorr1"] == pytest.approx(one["autocorr1"])


def test_drift_is_found_under_noise_and_outliers(random):
    values = 10.0 * (1.0 + 0.1 * np.linspace(-0.5, 0.5, 200)) + random.normal(0.0, 0.1, 200)  # +10 % over 2 s
    values[::20] += 50.0
    summary = st.summarise(values, at_s=np.linspace(0.0, 2.0, 200))
    assert summary["drift_pct_s"] == pytest.approx(5.0, abs=1.0)
    assert "drift" in st.quality_flags(st.summarise(values))
    assert st.quality_flags(st.summarise(random.normal(10.0, 0.1, 200))) == []
    with pytest.raises(ParameterError, match="at_s"):
        st.drift_pct_s(values, at_s=[0.0, 1.0])


def test_drift_of_batches_counts_every_launch():
    ramp = np.linspace(1.0, 1.1, 100)
    assert st.drift_pct_s(ramp, batch=10) == pytest.approx(st.drift_pct_s(ramp) / 10.0)
    assert st.drift_pct_s(ramp * 1e-3) is None  # 0.1 ms in all


def test_two_modes(random):
    switch = random.random(200) < 0.3
    assert st.is_bimodal(random.normal(10.0, 0.2, 200) + 2.0 * switch + 100.0 * (random.random(200) < 0.02))
    for values in (
        random.normal(10.0, 0.3, 200),
        random.uniform(9.0, 11.0, 200),
        random.lognormal(size=200),
        10.0 + random.pareto(1.5, 200),
        10.0 + 0.001 * switch,  # two clock readings a step apart
        np.full(200, 3.0),
    ):
        assert st.is_bimodal(values, resolution=0.001) is False
    assert st.is_bimodal([1.0, 2.0] * 5) is None


def test_convergence_by_interval(random):
    tight, wide = random.normal(10.0, 0.02, 20), random.lognormal(size=20)
    assert st.converged(tight, 0.01) == "ci"
    assert st.converged(tight, 0.01, spent_s=0.1) is None
    assert st.converged(tight[:9], 0.01) is None
    assert st.converged(wide, 0.01) is None
    assert st.converged(tight, 0.01, resolution=1.0) is None  # a clock of 1 ms cannot settle 10 ms to 1 %


def test_convergence_by_stable_noise(random):
    noisy = random.lognormal(sigma=0.2, size=640)
    assert st.converged(noisy, 1e-6) == "noise"
    assert st.converged(noisy[:79], 1e-6) is None
    assert st.converged(noisy, 1e-6, spent_s=0.0) is None
    growing = np.concatenate([np.ones(300), random.lognormal(sigma=2.0, size=20)])
    assert st.converged(growing + random.normal(0.0, 1e-3, 320), 1e-9) is None


def test_a_stable_answer_holds_until_the_next_multiple_of_16(random):
    noisy = random.lognormal(sigma=0.2, size=400)
    answers = {st.converged(noisy[:n], 1e-6) for n in range(384, 400)}
    assert len(answers) == 1


def test_block_ratio_cancels_a_drift():
    times = 10.0 * 1.1 ** np.arange(3)  # sentinel, a variant that is the same, sentinel
    assert st.block_ratio(times[1], times[0], times[2]) == pytest.approx(1.0)
    assert st.block_ratio([2.0, 8.0], 4.0, 4.0) == pytest.approx([0.5, 2.0])
    assert st.sentinel_spread([times[0], times[2]]) == pytest.approx(0.21)
    assert st.sentinel_spread([1.0, 1.04]) < st.SENTINEL_LIMIT
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="sentinel_after"):
            st.block_ratio(1.0, 1.0, bad)


@pytest.mark.parametrize(
    ("lo", "hi", "band", "word"),
    [
        (0.90, 0.98, 0.0, "FAST"),
        (0.90, 0.995, 0.0, "AMBIGUOUS"),
        (0.90, 0.98, 0.03, "AMBIGUOUS"),
        (0.992, 1.008, 0.0, "SAME"),
        (0.98, 1.008, 0.03, "SAME"),
        (1.02, 1.5, 0.0, "SLOW"),
        (1.0, 1.5, 0.0, "AMBIGUOUS"),
        (0.5, 2.0, 0.0, "AMBIGUOUS"),
    ],
)
def test_verdict(lo, hi, band, word):
    assert st.verdict(lo, hi, band) == word


def test_verdict_needs_an_interval():
    with pytest.raises(ParameterError, match="lo <= hi"):
        st.verdict(1.0, math.nan)


def test_sign_test_is_the_dual_of_the_interval(random):
    seen = set()
    for _ in range(600):
        n = int(random.choice(st.BLOCK_STEPS))
        ratios = random.choice([0.95, 0.985, 1.0, 1.015, 1.05]) * random.lognormal(sigma=0.012, size=n)
        j = st.order_rank(n)
        ordered = np.sort(ratios)
        word, p = st.sign_test(ratios)
        expected = st.verdict(ordered[j - 1], ordered[n - j])
        seen.add(expected)
        assert (word if p <= 0.05 else "AMBIGUOUS") == expected
    assert seen == {"FAST", "SLOW", "SAME", "AMBIGUOUS"}


def test_false_verdicts_are_rare(random):
    """A true ratio on the edge of the band is the worst case for FAST."""
    wrong = sum(st.verdicts({"a": random.lognormal(np.log(0.99), 0.02, 10)})["a"] == "FAST" for _ in range(1000))
    assert wrong / 1000 <= 0.025 + 0.015


def test_holm():
    assert st.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert st.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert st.holm([0.04]) == pytest.approx([0.04])


def test_many_variants_need_more_blocks():
    fast = [0.8, 0.81, 0.79, 0.8, 0.82, 0.78]
    assert st.verdicts({"a": fast}) == {"a": "FAST"}
    assert set(st.verdicts(dict.fromkeys("abcde", fast)).values()) == {"AMBIGUOUS"}
    assert st.blocks_for(1) == 6
    assert st.blocks_for(5) == 10
    assert set(st.verdicts({name: (fast * 2)[: st.blocks_for(5)] for name in "abcde"}).values()) == {"FAST"}
    assert st.verdicts({"a": fast[:5]}) == {"a": "AMBIGUOUS"}
    assert st.verdicts({}) == {}


def test_intervals_divide(random):
    a, b = np.sort(random.uniform(0.1, 9.0, (100, 2))), np.sort(random.uniform(0.1, 9.0, (100, 2)))
    for (alo, ahi), (blo, bhi) in zip(a, b, strict=True):
        lo, hi = st.divide((alo, ahi), (blo, bhi))
        corners = [x / y for x in (alo, ahi) for y in (blo, bhi)]
        assert (lo, hi) == pytest.approx((min(corners), max(corners)))
    with pytest.raises(ParameterError, match="lo <= hi"):
        st.divide((1.0, 2.0), (0.0, 1.0))


def test_the_band_of_a_baseline_against_itself():
    assert st.aa_band([1.0, 1.001, 0.999, 1.0, 1.002, 0.998]) == st.BAND_FLOOR
    assert st.aa_band([1.0, 1.2, 0.8, 1.2, 0.8, 1.2]) == pytest.approx(0.2)
    assert st.aa_band([1.0] * 5) is None
