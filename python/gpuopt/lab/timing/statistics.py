"""Robust statistics of timing samples: medians with intervals that assume no distribution, comparison by blocks.

Times are in milliseconds, ratios are of times (variant / baseline, below 1 is faster), relative figures are fractions
unless a name says ``pct``. Nothing here drops a sample.

Ratios are judged in logarithms, where a gain and a loss of one size lie equally far from 0. A band of ``b`` means
|log ratio| <= log(1 + b): from 1 / (1 + b) to 1 + b (``band_ends``). Over blocks a ratio is the Hodges-Lehmann estimate
with the exact interval of Wilcoxon's signed ranks: docs/decisions/signed-rank.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpuopt._core import ParameterError
from gpuopt.lab.timing import ranks, series
from gpuopt.lab.timing.fields import Flag, Summary, Verdict
from gpuopt.lab.timing.series import Samples, checked

AUTOCORRELATION_LIMIT = 0.3  # above it samples are not exchangeable: the interval is bootstrapped in blocks
SENTINEL_LIMIT = 0.05  # a block whose sentinels drift further apart than this is repeated, then flagged `drift`
QUALITY_FLAGS: tuple[Flag, ...] = ("autocorrelated", "bimodal", "drift")  # what samples earn by themselves
DRIFT_LIMIT_PCT = 5.0  # change over one set of samples that earns the flag `drift`, if it is no chance
BAND_FLOOR = 0.01  # no verdict claims a difference below 1 %
SAME_LIMIT = 0.05  # SAME means: not even this far apart; a device noisier than this tells nobody so
MIN_BLOCKS = 6  # five values give no distribution-free 95 % interval
BLOCK_STEPS = (6, 10, 16, 25, 40)  # the only block counts at which stopping may be tested
MEDIAN_NOISE = 1.2533  # the standard error of a median over that of a mean, of normal samples
MAD_TO_SIGMA = 1.4826


class MedianCI(NamedTuple):
    """A median and its confidence interval, all in the unit of the samples.

    ``coverage`` is the level that the order statistics guarantee for independent samples; ``reached`` is False when it
    is below the level asked for (fewer than 6 samples at 95 %): the interval is then [min, max] and must not be called
    a 95 % interval. ``method`` is "order", for correlated samples "block_bootstrap", or "rank" (``ratio_ci``).
    """

    median: float
    lo: float
    hi: float
    coverage: float
    reached: bool
    method: str

    @property
    def half_width(self) -> float:
        """The longer of the two sides, relative to the median (a fraction; inf for a median of 0)."""
        side = max(self.hi - self.median, self.median - self.lo)
        return side / abs(self.median) if self.median else math.inf


def order_rank(n: int, confidence: float = 0.95) -> int:
    """The rank j for which [x(j), x(n+1-j)] covers the median of any distribution; 0 if n is too small.

    j is the largest with P(Bin(n, 1/2) <= j-1) <= (1 - confidence) / 2. At 95 %: 6 -> 1, 10 -> 2, 20 -> 6, 30 -> 10.
    """
    return ranks.rank_within(ranks.binomial_half_cdf(n), confidence)


def _bootstrap_medians(
    values: npt.NDArray[np.float64], rho: float, resamples: int, seed: int
) -> npt.NDArray[np.float64]:
    """Medians of circular block resamples; the block length is optimal for a first-order process with this rho."""
    n = values.size
    rho = min(rho, 0.99)
    length = math.ceil((1.5 * (2.0 * rho / (1.0 - rho * rho)) ** 2 * n) ** (1.0 / 3.0))
    length = max(2, min(length, n // 2))
    blocks = -(-n // length)
    random = np.random.default_rng(seed)
    medians = np.empty(resamples)
    step = max(1, 1_000_000 // n)  # bounds the index array to a few MB
    for first in range(0, resamples, step):
        count = min(step, resamples - first)
        starts = random.integers(0, n, size=(count, blocks, 1))
        index = ((starts + np.arange(length)) % n).reshape(count, -1)[:, :n]
        medians[first : first + count] = np.median(values[index], axis=1)
    return medians


def median_ci(
    samples: Samples,
    confidence: float = 0.95,
    resolution: float = 0.0,
    batch: int = 1,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> MedianCI:
    """The median of (n,) samples with a distribution-free confidence interval.

    The interval is [x(j), x(n+1-j)] of the sorted samples (``order_rank``), [min, max] where n is too small. With a
    lag-1 autocorrelation rho above 0.3 it is widened to the percentiles of a block bootstrap (seeded, so repeatable)
    and to the order statistics of the n (1-rho) / (1+rho) independent samples that n correlated ones are worth: for a
    first-order process with rho 0.4 to 0.8 and n of 30 to 300 the bootstrap alone covered 70-93 % (simulated), both
    together 89-97 %. The half-width is never below ``resolution / (2 * batch)``: ``resolution`` is the clock's step in
    the unit of the samples, ``batch`` the launches behind each sample.

    Raises ParameterError for empty, non-finite or not one-dimensional samples.
    """
    values = np.sort(checked(samples))
    n = values.size
    rank = order_rank(n, confidence)
    median = float(np.median(values))
    j = max(rank, 1)
    lo, hi = float(values[j - 1]), float(values[n - j])
    coverage = max(0.0, 1.0 - 2.0 * float(ranks.binomial_half_cdf(n)[j - 1]))
    method = "order"
    rho = series.autocorrelation(samples)
    if n >= MIN_BLOCKS and rho is not None and rho > AUTOCORRELATION_LIMIT:
        medians = _bootstrap_medians(checked(samples), rho, resamples, seed)
        tail = (1.0 - confidence) / 2.0
        boot_lo, boot_hi = np.quantile(medians, [tail, 1.0 - tail])
        worth = int(n * (1.0 - rho) / (1.0 + rho))
        rank_worth = order_rank(worth, confidence) if worth else 0
        outer = (rank_worth - 0.5) / worth if rank_worth else 0.0
        wide_lo, wide_hi = np.quantile(values, [outer, 1.0 - outer], method="hazen")
        lo, hi = min(lo, float(boot_lo), float(wide_lo)), max(hi, float(boot_hi), float(wide_hi))
        method = "block_bootstrap"
    floor = resolution / (2.0 * max(batch, 1))
    return MedianCI(median, min(lo, median - floor), max(hi, median + floor), coverage, rank >= 1, method)


def summarise(
    samples_ms: Samples,
    *,
    batch_n: int = 1,
    timer_ns: float | None = None,
    confidence: float = 0.95,
    at_s: Samples | None = None,
    seed: int = 0,
) -> Summary:
    """The `time` and `quality` groups of a result row from (n,) samples in milliseconds per launch.

    ``batch_n`` launches were timed together for each sample, whose time was already divided by it; ``timer_ns`` is the
    clock's measured step; ``at_s`` optionally each sample's time in seconds. ``mad_ms`` is the plain median absolute
    deviation, without the factor 1.4826. All samples are returned in ``samples_ms``, in the order taken.
    """
    values = checked(samples_ms, "samples_ms")
    step_ms = (timer_ns or 0.0) * 1e-6
    ci = median_ci(values, confidence, step_ms, batch_n, seed=seed)
    q1, q3, p95 = (float(q) for q in np.percentile(values, [25.0, 75.0, 95.0]))
    return {
        "n": int(values.size),
        "batch_n": int(batch_n),
        "min_ms": float(values.min()),
        "q1_ms": q1,
        "median_ms": ci.median,
        "q3_ms": q3,
        "p95_ms": p95,
        "max_ms": float(values.max()),
        "mad_ms": float(np.median(np.abs(values - ci.median))),
        "ci_lo_ms": ci.lo,
        "ci_hi_ms": ci.hi,
        "samples_ms": values.tolist(),
        "autocorr1": series.autocorrelation(values),
        "drift_pct_s": series.drift_pct_s(values, batch=batch_n, at_s=at_s),
        "bimodal": series.is_bimodal(values, step_ms / max(batch_n, 1)),
        "timer_ns": None if timer_ns is None else float(timer_ns),
    }


def quality_flags(summary: Summary) -> list[Flag]:
    """The flag words that a summary (of ``summarise``) earns by itself: autocorrelated, bimodal, drift."""
    flags: list[Flag] = []
    if summary["n"] >= 10 and (summary["autocorr1"] or 0.0) > AUTOCORRELATION_LIMIT:
        flags.append("autocorrelated")
    if summary["bimodal"]:
        flags.append("bimodal")
    samples, batch = summary["samples_ms"], summary["batch_n"]
    if abs(summary["drift_pct_s"] or 0.0) * sum(samples) * batch * 1e-3 > DRIFT_LIMIT_PCT:
        # Plain noise has a slope too, and a comparison has hundreds of visits: only one that is no chance counts.
        found = series.slope(samples, batch=batch, confidence=0.99)
        if found is not None and found.excludes_zero:
            flags.append("drift")
    return flags


def converged(
    samples: Samples,
    target: float = 0.01,
    *,
    spent_s: float = math.inf,
    min_spent_s: float = 0.2,
    min_samples: int = 10,
    resolution: float = 0.0,
    batch: int = 1,
) -> str | None:
    """Why sampling may stop: "ci", "noise", or None to go on. The caller caps the time and flags `unconverged`.

    "ci": the 95 % interval of the median lies within +-``target`` (a fraction) of it. "noise": more samples no longer
    change the relative noise, that is the standard deviation of its last 64 running values is below 5 % of their mean;
    tested at multiples of 16 samples however many arrive at a time. Either needs ``min_samples`` and ``min_spent_s``.
    """
    values = checked(samples)
    n = values.size
    if n < min_samples or spent_s < min_spent_s:
        return None
    ci = median_ci(values, resolution=resolution, batch=batch, resamples=200)
    if ci.reached and ci.half_width <= target:
        return "ci"
    whole = n - n % 16
    if whole < 80:  # 64 running values, the first over at least 16 samples
        return None
    shifted = values[:whole] - values[0]  # keeps the difference of squares accurate
    count = np.arange(1, whole + 1)
    mean = np.cumsum(shifted) / count
    variance = np.maximum(np.cumsum(shifted**2) / count - mean**2, 0.0)
    noise = (np.sqrt(variance) / np.maximum(np.abs(mean + values[0]), np.finfo(np.float64).tiny))[-64:]
    return "noise" if float(noise.std()) < 0.05 * float(noise.mean()) else None


def block_ratio(
    variant_medians: Samples, sentinel_before: Samples, sentinel_after: Samples, share: Samples = 0.5
) -> npt.NDArray[np.float64]:
    """Ratios of times for the visits of one block, elementwise (arguments broadcast): median / (before^(1 - share) *
    after^share).

    The sentinels are the baseline's medians of the visits that enclose each variant's, and ``share`` says how far from
    the first to the second the variant was visited, 0..1: a drift that is linear in the logarithm cancels. Raises
    ParameterError unless all times are positive and finite.
    """
    arrays = [np.asarray(a, dtype=np.float64) for a in (variant_medians, sentinel_before, sentinel_after)]
    for name, array in zip(("variant_medians", "sentinel_before", "sentinel_after"), arrays, strict=True):
        if not (np.isfinite(array) & (array > 0.0)).all():
            raise ParameterError(f"{name}: times must be positive and finite, got {array.tolist()}")
    when = np.clip(np.asarray(share, dtype=np.float64), 0.0, 1.0)
    log_base = (1.0 - when) * np.log(arrays[1]) + when * np.log(arrays[2])
    ratios: npt.NDArray[np.float64] = np.exp(np.log(arrays[0]) - log_base)
    return ratios


def sentinel_spread(sentinels: Samples) -> float:
    """How far the sentinels of a block lie apart, max / min - 1."""
    values = checked(sentinels, "sentinels")
    return float(values.max() / values.min()) - 1.0 if values.min() > 0.0 else math.inf


def sentinels_drift(visits: Sequence[Samples], *, resamples: int = 199, seed: int = 0) -> bool:
    """Whether the device's speed changed between a block's sentinel visits, ``visits`` holding each one's samples.

    It did where their medians lie more than ``SENTINEL_LIMIT`` apart, the intervals of the slowest and the fastest are
    disjoint, and of all ways to deal the samples out to the visits at most 5 % (drawn at random, seeded) put the
    medians as far apart: with many sentinels of few samples, two disjoint intervals are no surprise. Two visits of
    three samples can be dealt out in 20 ways only, and never say that it drifts.
    """
    thinned = [values[:: -(-values.size // 64)] for values in map(checked, visits)]
    medians = [float(np.median(values)) for values in thinned]
    spread = sentinel_spread(medians)
    if spread <= SENTINEL_LIMIT:
        return False
    fastest, slowest = (median_ci(thinned[int(index)]) for index in (np.argmin(medians), np.argmax(medians)))
    if fastest.hi >= slowest.lo:
        return False
    dealt = np.random.default_rng(seed).permuted(np.tile(np.concatenate(thinned), (resamples, 1)), axis=1)
    parts = np.split(dealt, np.cumsum([values.size for values in thinned])[:-1], axis=1)
    found = np.array([np.median(part, axis=1) for part in parts])
    as_far = np.count_nonzero(found.max(axis=0) >= found.min(axis=0) * (1.0 + spread) * (1.0 - 1e-12))
    return bool((1 + as_far) / (1 + resamples) <= 0.05)


def median_variance(n: int, median: float, mad: float) -> float:
    """The variance of the logarithm of a visit's median, from the spread of its ``n`` samples."""
    return (MEDIAN_NOISE * MAD_TO_SIGMA * mad / median) ** 2 / n if median > 0.0 and n else 0.0


def variance_shares(ratios: Samples, within: Samples) -> tuple[float, float] | None:
    """Where the noise of (blocks,) ratios comes from, in percent of the variance of their logarithms: from the samples
    within visits, and from what changes from block to block (placement in memory, the machine's state).

    ``within`` is, for each block, the variance that the samples of its visits explain. None for one block, and where
    all ratios are equal.
    """
    logs = _logs(ratios)
    total = float(logs.var(ddof=1)) if logs.size > 1 else 0.0
    if total <= 0.0:
        return None
    share = 100.0 * min(1.0, float(np.mean(checked(within, "within"))) / total)
    return share, 100.0 - share


def _logs(ratios: Samples, name: str = "ratios") -> npt.NDArray[np.float64]:
    values = checked(ratios, name)
    if not (values > 0.0).all():
        raise ParameterError(f"{name}: ratios of times are positive, got {float(values.min())}")
    return np.log(values)


def ratio_ci(ratios: Samples, confidence: float = 0.95) -> MedianCI:
    """The ratio over (blocks,) ratios with its interval; below 6 blocks ``reached`` is False.

    The Hodges-Lehmann estimate, exp of the median of the Walsh averages of the logarithms, with the exact interval of
    Wilcoxon's signed ranks. It covers where the logarithms scatter symmetrically about the truth, and nearly so where
    they do not. Raises ParameterError unless all ratios are positive and finite.
    """
    logs = _logs(ratios)
    averages, cdf = ranks.walsh_averages(logs), ranks.signed_rank_cdf(logs.size)
    rank = ranks.rank_within(cdf, confidence)
    k = max(rank, 1)
    mid, lo, hi = math.exp(float(np.median(averages))), math.exp(averages[k - 1]), math.exp(averages[-k])
    return MedianCI(mid, min(lo, mid), max(hi, mid), max(0.0, 1.0 - 2.0 * float(cdf[k - 1])), rank >= 1, "rank")


def band_ends(band: float) -> tuple[float, float]:
    """The ratios 1 / (1 + b) and 1 + b between which a difference is noise; b is the band, at least ``BAND_FLOOR``."""
    widest = 1.0 + max(band, BAND_FLOOR)
    return 1.0 / widest, widest


def verdict(lo: float, hi: float, band: float = BAND_FLOOR) -> Verdict:
    """FAST, SLOW, SAME or AMBIGUOUS for an interval [lo, hi] of a ratio of times.

    FAST and SLOW lie outside ``band_ends(band)``: noise does not explain them. SAME lies within 5 % of 1
    (``SAME_LIMIT``) and is neither; where the band itself is above that, nothing is SAME: noise is no equality.
    """
    if not lo <= hi:
        raise ParameterError(f"lo={lo}, hi={hi}: expected an interval with lo <= hi")
    below, above = band_ends(band)
    if hi < below:
        return "FAST"
    if lo > above:
        return "SLOW"
    least, most = band_ends(SAME_LIMIT)
    return "SAME" if band <= SAME_LIMIT and lo >= least and hi <= most else "AMBIGUOUS"


def signed_rank(ratios: Samples, band: float = BAND_FLOOR, alpha: float = 0.05) -> tuple[Verdict, float]:
    """The word (FAST, SLOW, SAME) that (blocks,) ratios earn at this level and its two-sided p-value by Wilcoxon's
    ranks; where they earn none, the likeliest.

    The exact dual of ``verdict`` on ``ratio_ci``: p <= alpha if and only if the interval of 1 - alpha earns that word.
    Whatever the true ratio, a wrong word needs one of two tail events, so p is valid for the choice too.
    """
    logs = _logs(ratios)
    averages, cdf = ranks.walsh_averages(logs), ranks.signed_rank_cdf(logs.size)
    edge, limit = math.log(band_ends(band)[1]), math.log(band_ends(SAME_LIMIT)[1])
    fast = cdf[np.count_nonzero(averages >= -edge)]
    slow = cdf[np.count_nonzero(averages <= edge)]
    same = cdf[max(np.count_nonzero(averages < -limit), np.count_nonzero(averages > limit))]
    same = same if band <= SAME_LIMIT else 1.0
    told: tuple[tuple[Verdict, float], ...] = (("FAST", float(fast)), ("SLOW", float(slow)), ("SAME", float(same)))
    found = [(word, min(1.0, 2.0 * p)) for word, p in told]
    return next((each for each in found if each[1] <= alpha), min(found, key=lambda item: item[1]))


def verdicts(
    ratios: Mapping[str, Sequence[float]], band: float = BAND_FLOOR, alpha: float = 0.05
) -> dict[str, Verdict]:
    """The verdict of each of several variants held against one baseline, ``ratios[name]`` being its (blocks,) ratios.

    Each variant's likeliest word is adjusted by Holm over all of them; those that are then above ``alpha`` are
    AMBIGUOUS, the others have the word that they earn at the level which Holm leaves them. For one variant this is
    ``verdict`` of its interval. Many variants need more blocks: see ``blocks_for``.
    """
    likeliest = {name: signed_rank(values, band, 0.0)[1] for name, values in ratios.items()}
    found: dict[str, Verdict] = dict.fromkeys(ratios, "AMBIGUOUS")
    for place, name in enumerate(sorted(likeliest, key=likeliest.__getitem__)):
        level = alpha / (len(likeliest) - place)
        if likeliest[name] > level:
            break
        found[name] = signed_rank(ratios[name], band, level)[0]
    return found


def aa_band(ratios: Sequence[float]) -> float | None:
    """How far from 1 the ratio over blocks of a baseline to its own clone may be (95 %), as the ``band`` of verdicts;
    at least ``BAND_FLOOR``. None below 6 blocks.

    The further end of the interval of that ratio, in logarithms: single blocks stray further than what verdicts are on.
    """
    if len(ratios) < MIN_BLOCKS:
        return None
    ci = ratio_ci(ratios)
    return max(BAND_FLOOR, ci.hi - 1.0, 1.0 / ci.lo - 1.0)


def blocks_for(comparisons: int, alpha: float = 0.05) -> int:
    """The least of 6, 10, 16, 25, 40 blocks at which Holm over this many comparisons can reach any verdict: all signed
    ranks of one sign have a two-sided p of 2^(1 - blocks)."""
    return next((n for n in BLOCK_STEPS if max(comparisons, 1) * 2.0 ** (1 - n) <= alpha), BLOCK_STEPS[-1])


def divide(numerator: tuple[float, float], denominator: tuple[float, float]) -> tuple[float, float]:
    """The interval of a / b for a in [lo, hi] >= 0 and b in [lo, hi] > 0."""
    if not (0.0 <= numerator[0] <= numerator[1] and 0.0 < denominator[0] <= denominator[1]):
        raise ParameterError(f"intervals {numerator} / {denominator}: expected 0 <= lo <= hi over 0 < lo <= hi")
    return numerator[0] / denominator[1], numerator[1] / denominator[0]
