"""Golden numbers, properties and simulated coverage of the lab's statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.rows import schema
from gpuopt.lab.timing import series
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
    if series.autocorrelation(values) < 0.3:
        ci = st.median_ci(values)
        assert (ci.lo, ci.hi) == (max(j, 1), n + 1 - max(j, 1))
        assert ci.reached is (n >= 6)


def test_rank_is_the_largest_that_holds():
    for n in (6, 7, 23, 64, 301):
        for confidence in (0.5, 0.9, 0.95, 0.99):
            j = st.order_rank(n, confidence)
            tail = [sum(math.comb(n, i) for i in range(k)) / 2**n for k in range(j + 2)]
            assert tail[j] <= (1 - confidence) / 2 * (1 + 1e-9) < tail[j + 1]


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
    between_sittings = {"sit_lo_ms", "sit_hi_ms"}  # which no set of samples tells of
    assert set(summary) == {*schema.GROUPS["time"], *schema.GROUPS["quality"]} - between_sittings
    assert st.quality_flags(summary) == []


def test_summary_scales_with_the_unit(random):
    values = random.lognormal(size=40)
    one, thousand = st.summarise(values), st.summarise(values * 1000.0)
    for field in ("min_ms", "q1_ms", "median_ms", "p95_ms", "mad_ms", "ci_lo_ms", "ci_hi_ms"):
        assert thousand[field] == pytest.approx(1000.0 * one[field])
    assert thousand["autocorr1"] == pytest.approx(one["autocorr1"])


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
    assert st.block_ratio(1.1**0.25, 1.0, 1.1, 0.25) == pytest.approx(1.0)  # visited soon after the first sentinel
    assert st.sentinel_spread([times[0], times[2]]) == pytest.approx(0.21)
    for bad in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="sentinel_after"):
            st.block_ratio(1.0, 1.0, bad)


@pytest.mark.parametrize(("visits", "samples"), [(2, 3), (3, 3), (11, 3), (11, 6), (2, 30), (11, 30)])
def test_plain_noise_is_no_drift_of_sentinels(random, visits, samples):
    flagged = sum(st.sentinels_drift(10 * random.lognormal(sigma=0.1, size=(visits, samples))) for _ in range(200))
    assert flagged / 200 <= 0.08  # 5 % and three standard errors


def test_a_change_of_speed_is_drift_of_sentinels(random):
    found = 0
    for _ in range(50):
        visits = [10 * random.lognormal(sigma=0.02, size=10) for _ in range(3)]
        visits[2] *= 1.2
        found += st.sentinels_drift(visits)
    assert found == 50
    assert not st.sentinels_drift([visits[0], visits[0] * 1.03])  # within the limit, however sure it is


def test_noise_is_told_apart_by_where_it_comes_from(random):
    visits = 10 * random.lognormal(sigma=0.05, size=(400, 9))
    medians = np.median(visits, axis=1)
    within = [
        st.median_variance(9, median, float(np.median(np.abs(visit - median))))
        for visit, median in zip(visits, medians, strict=True)
    ]
    assert st.variance_shares(medians, within)[0] == pytest.approx(100, abs=30)
    placed = st.variance_shares(medians * random.lognormal(sigma=0.1, size=400), within)
    assert placed[0] < 10
    assert sum(placed) == pytest.approx(100)
    assert st.variance_shares([1.0, 1.0], [0.1, 0.1]) is None
    assert st.variance_shares([1.0], [0.1]) is None


@pytest.mark.parametrize(
    ("lo", "hi", "band", "word"),
    [
        (0.90, 0.98, 0.0, "FAST"),
        (0.90, 0.995, 0.0, "AMBIGUOUS"),
        (0.90, 0.98, 0.03, "AMBIGUOUS"),
        (0.992, 1.008, 0.0, "SAME"),
        (0.98, 1.008, 0.03, "SAME"),
        (0.985, 1.04, 0.0, "SAME"),
        (0.98, 1.06, 0.0, "AMBIGUOUS"),
        (0.98, 1.02, 0.06, "AMBIGUOUS"),
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


def test_the_band_is_a_band_of_logarithms():
    assert st.band_ends(0.25) == pytest.approx((0.8, 1.25))
    assert st.band_ends(0.0) == pytest.approx((1 / 1.01, 1.01))
    assert st.verdict(0.4, 0.45, 0.91) == "FAST"  # twice as fast and more; on a linear scale this asked for 11 times
    assert st.verdict(0.55, 0.6, 0.91) == "AMBIGUOUS"


@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 10, 16, 40])
def test_the_ratio_is_hodges_and_lehmanns(random, n):
    ratios = random.lognormal(0.1, 0.2, n)
    ci = st.ratio_ci(ratios)
    logs = np.log(ratios)
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(n) for j in range(i, n))
    assert ci.median == pytest.approx(math.exp(np.median(walsh)))
    assert ci.method == "rank"
    assert ci.reached is (n >= 6)
    if n <= 6:
        assert (ci.lo, ci.hi) == pytest.approx((ratios.min(), ratios.max()))
    else:
        assert ratios.min() < ci.lo < ci.median < ci.hi < ratios.max()
    flipped = st.ratio_ci(1 / ratios)
    assert (1 / flipped.hi, 1 / flipped.median, 1 / flipped.lo) == pytest.approx((ci.lo, ci.median, ci.hi))
    with pytest.raises(ParameterError, match="positive"):
        st.ratio_ci([*ratios, 0.0])


@pytest.mark.parametrize("n", [6, 10, 16, 25])
def test_coverage_of_ratios(random, n):
    for draw in (
        lambda: random.lognormal(sigma=0.1, size=n),
        lambda: np.exp(0.02 * random.standard_t(2, size=n)),
        lambda: np.exp(random.uniform(-0.1, 0.1, size=n)),
    ):
        hits = sum(ci.lo <= 1.0 <= ci.hi for ci in (st.ratio_ci(draw()) for _ in range(1000)))
        assert 0.93 <= hits / 1000 <= 0.985


def test_signed_rank_is_the_dual_of_the_interval(random):
    seen = set()
    for _ in range(900):
        n = int(random.choice(st.BLOCK_STEPS))
        ratios = random.choice([0.95, 0.985, 1.0, 1.015, 1.05]) * random.lognormal(sigma=0.012, size=n)
        band = float(random.choice([0.0, 0.01, 0.02]))
        ci = st.ratio_ci(ratios)
        word, p = st.signed_rank(ratios, band)
        expected = st.verdict(ci.lo, ci.hi, band)
        seen.add(expected)
        assert (word if p <= 0.05 else "AMBIGUOUS") == expected
    assert seen == {"FAST", "SLOW", "SAME", "AMBIGUOUS"}


def test_false_verdicts_are_rare(random):
    """A true ratio on the edge of the band is the worst case for FAST."""
    edge = -math.log(1.01)
    wrong = sum(st.verdicts({"a": random.lognormal(edge, 0.02, 10)})["a"] == "FAST" for _ in range(1000))
    assert wrong / 1000 <= 0.025 + 0.015


def test_many_comparisons_are_decided_in_few_blocks(random):
    """5 % faster at 2 % of noise a block beside 79 that are the same: the sign test finds it in 6 % of the cases."""
    n, found = st.blocks_for(80), 0
    assert n == 16
    for _ in range(100):
        ratios = {str(i): random.lognormal(0.0, 0.02, n) for i in range(79)} | {
            "fast": 0.95 * random.lognormal(0.0, 0.02, n)
        }
        verdicts = st.verdicts(ratios)
        assert "SLOW" not in verdicts.values() or list(verdicts.values()).count("SLOW") <= 1
        found += verdicts["fast"] == "FAST"
    assert found >= 90


def test_holm_gives_each_comparison_its_level():
    """All 10 blocks of one sign have p = 2^-9, one small rank of the other sign twice that: 0.05/25 holds the first."""
    fast = [0.80, 0.81, 0.79, 0.82, 0.78, 0.83, 0.77, 0.84, 0.76, 0.85]
    once = [*fast[:9], 1.0001]
    assert st.signed_rank(fast)[1] == pytest.approx(2.0**-9)
    assert 2.0**-9 < st.signed_rank(once)[1] < 0.05
    undecided = {str(i): [0.5, 2.0] * 5 for i in range(24)}
    assert st.verdicts({**undecided, "fast": fast})["fast"] == "FAST"
    assert st.verdicts({**undecided, "fast": once})["fast"] == "AMBIGUOUS"
    # Once the others have their word they no longer count: the last needs 0.05 alone.
    told = st.verdicts({**{str(i): fast for i in range(24)}, "once": once})
    assert told["once"] == "FAST"


def test_same_is_not_said_of_what_is_certified_to_differ(random):
    """3 % faster, surely: below the limit of SAME, and outside the band."""
    ratios = 0.97 * random.lognormal(0.0, 0.003, 16)
    told = st.verdicts({str(i): ratios for i in range(20)})
    assert set(told.values()) == {"FAST"}
    assert st.verdicts({"a": ratios}, band=0.04) == {"a": "SAME"}
    assert st.verdicts({"a": ratios}, band=0.06) == {"a": "AMBIGUOUS"}


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


def test_the_band_of_a_baseline_against_itself(random):
    assert st.aa_band([1.0, 1.001, 0.999, 1.0, 1.002, 0.998]) == st.BAND_FLOOR
    assert st.aa_band([1.0, 1.2, 0.9, 1.2, 0.8, 1.2]) == pytest.approx(0.25)  # from 0.8 = 1 / 1.25
    assert st.aa_band([1.0] * 5) is None
    wide = random.lognormal(0.0, 0.1, 40)  # single blocks stray by 20 %, the ratio over all of them by 3 %
    assert st.aa_band(wide) < 0.08 < 0.15 < np.quantile(np.abs(wide - 1), 0.95)
