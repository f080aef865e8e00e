"""Robust statistics of timing samples: medians with intervals that assume no distribution, comparison by blocks.

Times are in milliseconds, ratios are of times (variant / baseline, below 1 is faster), relative figures are fractions
unless a name says ``pct``. Nothing here drops a sample. Why not SciPy: docs/decisions/statistics.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpuopt._core import ParameterError
from gpuopt.lab.timing.fields import Flag, Summary, Verdict

Samples = npt.ArrayLike

AUTOCORRELATION_LIMIT = 0.3  # above it samples are not exchangeable: the interval is bootstrapped in blocks
SENTINEL_LIMIT = 0.05  # sentinels of a block further apart than this: repeat the block, then flag `drift`
DRIFT_LIMIT_PCT = 5.0  # change over one set of samples that earns the flag `drift`
BAND_FLOOR = 0.01  # no verdict claims a difference below 1 %
SAME_LIMIT = 0.05  # a device noisier than this tells nobody that two times are the same
MIN_BLOCKS = 6  # five values give no distribution-free 95 % interval
BLOCK_STEPS = (6, 10, 16, 25, 40)  # the only block counts at which stopping may be tested


class MedianCI(NamedTuple):
    """A median and its confidence interval, all in the unit of the samples.

    ``coverage`` is the level that the order statistics guarantee for independent samples; ``reached`` is False when it
    is below the level asked for (fewer than 6 samples at 95 %): the interval is then [min, max] and must not be called
    a 95 % interval. ``method`` is "order" or, for correlated samples, "block_bootstrap".
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


def _values(samples: Samples, name: str = "samples") -> npt.NDArray[np.float64]:
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ParameterError(f"{name}: expected a non-empty 1-D sequence, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ParameterError(f"{name}[{bad}] is {values[bad]}: a failed run is a row with a status, never a sample")
    return values


@functools.lru_cache(maxsize=128)
def _binomial_half_cdf(n: int) -> npt.NDArray[np.float64]:
    """P(Bin(n, 1/2) <= k) for k = 0 .. n."""
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    log_pmf = log_factorial[n] - log_factorial - log_factorial[::-1] - n * math.log(2.0)
    cdf: npt.NDArray[np.float64] = np.minimum(np.cumsum(np.exp(log_pmf)), 1.0)
    cdf.flags.writeable = False
    return cdf


def order_rank(n: int, confidence: float = 0.95) -> int:
    """The rank j for which [x(j), x(n+1-j)] covers the median of any distribution; 0 if n is too small.

    j is the largest with P(Bin(n, 1/2) <= j-1) <= (1 - confidence) / 2. At 95 %: 6 -> 1, 10 -> 2, 20 -> 6, 30 -> 10.
    """
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence}: expected a level between 0 and 1, such as 0.95")
    limit = (1.0 - confidence) / 2.0 * (1.0 + 1e-9)  # the slack only settles ties such as confidence=0.5, n=2
    return int(np.searchsorted(_binomial_half_cdf(n), limit, side="right"))


def autocorrelation(samples: Samples) -> float | None:
    """Lag-1 autocorrelation of the samples' ranks, -1..1; None below 3 samples or where all are equal.

    Ranks, because the median depends on nothing else and one outlier would hide the correlation of raw values.
    """
    values = _values(samples)
    if values.size < 3:
        return None
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse.reshape(-1)]
    centred = ranks - ranks.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0.0 else None


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
    values = np.sort(_values(samples))
    n = values.size
    rank = order_rank(n, confidence)
    median = float(np.median(values))
    j = max(rank, 1)
    lo, hi = float(values[j - 1]), float(values[n - j])
    coverage = max(0.0, 1.0 - 2.0 * float(_binomial_half_cdf(n)[j - 1]))
    method = "order"
    rho = autocorrelation(samples)
    if n >= MIN_BLOCKS and rho is not None and rho > AUTOCORRELATION_LIMIT:
        medians = _bootstrap_medians(_values(samples), rho, resamples, seed)
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


def drift_pct_s(samples_ms: Samples, *, batch: int = 1, at_s: Samples | None = None) -> float | None:
    """Slope of the samples over time, in percent of their median per second (Theil-Sen: median of pairwise slopes).

    ``at_s`` holds each sample's time in seconds; without it the samples' own durations are summed. None below 6 samples
    or where they span less than 10 ms: a slope over that says nothing about a second.
    """
    values = _values(samples_ms, "samples_ms")
    when = _times(values, batch, at_s)
    median = float(np.median(values))
    if values.size < 6 or median <= 0.0 or float(when[-1] - when[0]) < 0.01:
        return None
    parts = min(values.size, 64)  # pairwise slopes are quadratic: long runs are first reduced to chunk medians
    y = np.array([np.median(chunk) for chunk in np.array_split(values, parts)])
    x = np.array([np.median(chunk) for chunk in np.array_split(when, parts)])
    first, second = np.triu_indices(parts, k=1)
    apart = x[second] - x[first]
    slopes = (y[second] - y[first])[apart > 0.0] / apart[apart > 0.0]
    return 100.0 * float(np.median(slopes)) / median if slopes.size else None


def _times(values_ms: npt.NDArray[np.float64], batch: int, at_s: Samples | None) -> npt.NDArray[np.float64]:
    if at_s is None:
        elapsed: npt.NDArray[np.float64] = np.cumsum(values_ms) * (max(batch, 1) * 1e-3)
        return elapsed
    when = _values(at_s, "at_s")
    if when.shape != values_ms.shape:
        raise ParameterError(f"at_s: {when.size} times for {values_ms.size} samples")
    return when


def is_bimodal(samples: Samples, resolution: float = 0.0) -> bool | None:
    """Whether the samples form two separate, compact groups; None below 20 samples.

    The outer 5 % on each side are set aside, the rest is split where the variance within the groups is least. Two modes
    are reported if both hold 10 % of it, lie more than 1 % and two clock steps apart, and more than 5 standard
    deviations of the wider group (halves of a uniform distribution show 3.5; a long tail fails by its own width).
    """
    values = np.sort(_values(samples))
    if values.size < 20:
        return None
    trim = values.size // 20
    values = values[trim : values.size - trim]
    n = values.size
    least = max(3, n // 10)
    left = np.arange(least, n - least + 1)
    total, squares = np.cumsum(values - values[0]), np.cumsum((values - values[0]) ** 2)
    mean_l, mean_r = total[left - 1] / left, (total[-1] - total[left - 1]) / (n - left)
    within = squares[-1] - left * mean_l**2 - (n - left) * mean_r**2
    best = int(np.argmin(within))
    apart = float(mean_r[best] - mean_l[best])
    cut = int(left[best])
    spread = max(float(values[:cut].std()), float(values[cut:].std()))
    return bool(apart > max(0.01 * abs(float(np.median(values))), 2.0 * resolution) and apart > 5.0 * spread)


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
    values = _values(samples_ms, "samples_ms")
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
        "autocorr1": autocorrelation(values),
        "drift_pct_s": drift_pct_s(values, batch=batch_n, at_s=at_s),
        "bimodal": is_bimodal(values, step_ms / max(batch_n, 1)),
        "timer_ns": None if timer_ns is None else float(timer_ns),
    }


def quality_flags(summary: Summary) -> list[Flag]:
    """The flag words that a summary (of ``summarise``) earns by itself: autocorrelated, bimodal, drift."""
    flags: list[Flag] = []
    if summary["n"] >= 10 and (summary["autocorr1"] or 0.0) > AUTOCORRELATION_LIMIT:
        flags.append("autocorrelated")
    if summary["bimodal"]:
        flags.append("bimodal")
    span_s = sum(summary["samples_ms"]) * summary["batch_n"] * 1e-3
    if abs(summary["drift_pct_s"] or 0.0) * span_s > DRIFT_LIMIT_PCT:
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
    values = _values(samples)
    n = values.size
    if n < min_samples or spent_s < min_spent_s:
        return None
    ci = median_ci(values, resolution=resolution, batch=batch, resamples=200)
    if ci.reached and ci.half_width <= target:
        return "ci"
    checked = n - n % 16
    if checked < 80:  # 64 running values, the first over at least 16 samples
        return None
    shifted = values[:checked] - values[0]  # keeps the difference of squares accurate
    count = np.arange(1, checked + 1)
    mean = np.cumsum(shifted) / count
    variance = np.maximum(np.cumsum(shifted**2) / count - mean**2, 0.0)
    noise = (np.sqrt(variance) / np.maximum(np.abs(mean + values[0]), np.finfo(np.float64).tiny))[-64:]
    return "noise" if float(noise.std()) < 0.05 * float(noise.mean()) else None


def block_ratio(variant_medians: Samples, sentinel_before: Samples, sentinel_after: Samples) -> npt.NDArray[np.float64]:
    """Ratios of times median / sqrt(before * after) for the visits of one block, elementwise (arguments broadcast).

    The sentinels are the baseline's medians of the visits that enclose each variant's, so a drift that is linear in the
    logarithm cancels. Raises ParameterError unless all times are positive and finite.
    """
    arrays = [np.asarray(a, dtype=np.float64) for a in (variant_medians, sentinel_before, sentinel_after)]
    for name, array in zip(("variant_medians", "sentinel_before", "sentinel_after"), arrays, strict=True):
        if not (np.isfinite(array) & (array > 0.0)).all():
            raise ParameterError(f"{name}: times must be positive and finite, got {array.tolist()}")
    ratios: npt.NDArray[np.float64] = arrays[0] / np.sqrt(arrays[1] * arrays[2])
    return ratios


def sentinel_spread(sentinels: Samples) -> float:
    """How far the sentinels of a block lie apart, max / min - 1; above ``SENTINEL_LIMIT`` the block is repeated."""
    values = _values(sentinels, "sentinels")
    return float(values.max() / values.min()) - 1.0 if values.min() > 0.0 else math.inf


def ratio_ci(ratios: Samples, confidence: float = 0.95) -> MedianCI:
    """The median ratio over blocks with its interval; below 6 blocks ``reached`` is False."""
    return median_ci(ratios, confidence)


def verdict(lo: float, hi: float, band: float = BAND_FLOOR) -> Verdict:
    """FAST, SLOW, SAME or AMBIGUOUS for an interval [lo, hi] of a ratio of times against 1 +- max(1 %, ``band``).

    Where the band is above 5 %, nothing is SAME: noise is no equality.
    """
    if not lo <= hi:
        raise ParameterError(f"lo={lo}, hi={hi}: expected an interval with lo <= hi")
    band = max(band, BAND_FLOOR)
    if hi < 1.0 - band:
        return "FAST"
    if lo > 1.0 + band:
        return "SLOW"
    return "SAME" if band <= SAME_LIMIT and lo >= 1.0 - band and hi <= 1.0 + band else "AMBIGUOUS"


def sign_test(ratios: Samples, band: float = BAND_FLOOR) -> tuple[Verdict, float]:
    """The likeliest verdict (FAST, SLOW, SAME) on (blocks,) ratios and its two-sided p-value, without assumptions.

    The exact dual of ``verdict`` on the order-statistic interval: p <= 0.05 if and only if the 95 % interval earns that
    word. Whatever the true median, a wrong word needs one of two tail events, so p is valid for the choice too.
    """
    values = _values(ratios, "ratios")
    band = max(band, BAND_FLOOR)
    cdf = _binomial_half_cdf(values.size)
    fast = cdf[np.count_nonzero(values >= 1.0 - band)]
    slow = cdf[np.count_nonzero(values <= 1.0 + band)]
    same = cdf[max(np.count_nonzero(values < 1.0 - band), np.count_nonzero(values > 1.0 + band))]
    same = same if band <= SAME_LIMIT else 1.0
    found: tuple[tuple[Verdict, float], ...] = (("FAST", float(fast)), ("SLOW", float(slow)), ("SAME", float(same)))
    word, p = min(found, key=lambda item: item[1])
    return word, min(1.0, 2.0 * p)


def holm(p_values: Samples) -> npt.NDArray[np.float64]:
    """Holm's adjusted p-values in the order given: those <= alpha are wrong together with probability <= alpha."""
    p = _values(p_values, "p_values")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def verdicts(
    ratios: Mapping[str, Sequence[float]], band: float = BAND_FLOOR, alpha: float = 0.05
) -> dict[str, Verdict]:
    """The verdict of each of several variants held against one baseline, ``ratios[name]`` being its (blocks,) ratios.

    Each variant's sign test is adjusted by Holm over all of them; what is then above ``alpha`` is AMBIGUOUS. For one
    variant this is ``verdict`` of its interval. Many variants need more blocks: see ``blocks_for``.
    """
    found = [sign_test(values, band) for values in ratios.values()]
    adjusted = holm([p for _, p in found]) if found else ()
    return {n: word if p <= alpha else "AMBIGUOUS" for n, (word, _), p in zip(ratios, found, adjusted, strict=True)}


def aa_band(ratios: Sequence[float]) -> float | None:
    """How far a baseline's ratios to itself stray from 1 (95 %), at least ``BAND_FLOOR``; None below 6 blocks."""
    if len(ratios) < MIN_BLOCKS:
        return None
    return max(BAND_FLOOR, float(np.quantile(np.abs(np.subtract(ratios, 1)), 0.95)))


def blocks_for(comparisons: int, alpha: float = 0.05) -> int:
    """The least of 6, 10, 16, 25, 40 blocks at which Holm over this many comparisons can reach any verdict."""
    return next((n for n in BLOCK_STEPS if max(comparisons, 1) * 2.0 ** (1 - n) <= alpha), BLOCK_STEPS[-1])


def divide(numerator: tuple[float, float], denominator: tuple[float, float]) -> tuple[float, float]:
    """The interval of a / b for a in [lo, hi] >= 0 and b in [lo, hi] > 0."""
    if not (0.0 <= numerator[0] <= numerator[1] and 0.0 < denominator[0] <= denominator[1]):
        raise ParameterError(f"intervals {numerator} / {denominator}: expected 0 <= lo <= hi over 0 < lo <= hi")
    return numerator[0] / denominator[1], numerator[1] / denominator[0]
