"""What a series of samples shows over time: dependence between neighbours, drift, two modes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gpuopt._core import ParameterError
from gpuopt.lab.timing import ranks

Samples = npt.ArrayLike

PARTS = 64  # pairwise slopes are quadratic: longer series are first reduced to so many medians


def checked(samples: Samples, name: str = "samples") -> npt.NDArray[np.float64]:
    """The samples as a (n,) array. Raises ParameterError for empty, non-finite or not one-dimensional ones."""
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ParameterError(f"{name}: expected a non-empty 1-D sequence, got shape {values.shape}")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ParameterError(f"{name}[{bad}] is {values[bad]}: a failed run is a row with a status, never a sample")
    return values


def autocorrelation(samples: Samples) -> float | None:
    """Lag-1 autocorrelation of the samples' ranks, -1..1; None below 3 samples or where all are equal.

    Ranks, because the median depends on nothing else and one outlier would hide the correlation of raw values.
    """
    values = checked(samples)
    if values.size < 3:
        return None
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse.reshape(-1)]
    centred = order - order.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0.0 else None


class Slope(NamedTuple):
    """A change in percent of the samples' median per second, with its interval."""

    pct_s: float
    lo: float
    hi: float

    @property
    def excludes_zero(self) -> bool:
        return self.lo > 0.0 or self.hi < 0.0


def slope(
    samples_ms: Samples, *, batch: int = 1, at_s: Samples | None = None, confidence: float = 0.95
) -> Slope | None:
    """Slope of the samples over time (Theil-Sen: the median of pairwise slopes) with the interval of Kendall's test:
    the order statistics of the slopes, exact for exchangeable samples.

    ``at_s`` holds each sample's time in seconds; without it the samples' own durations are summed. None below 6 samples
    or where they span less than 10 ms: a slope over that says nothing about a second.
    """
    values = checked(samples_ms, "samples_ms")
    when = _times(values, batch, at_s)
    median = float(np.median(values))
    if values.size < 6 or median <= 0.0 or float(when[-1] - when[0]) < 0.01:
        return None
    parts = min(values.size, PARTS)
    y, x = values, when
    if values.size > parts:
        y, x = (np.array([np.median(chunk) for chunk in np.array_split(each, parts)]) for each in (values, when))
    first, second = np.triu_indices(parts, k=1)
    apart = x[second] - x[first]
    slopes = np.sort((y[second] - y[first])[apart > 0.0] / apart[apart > 0.0]) * (100.0 / median)
    if not slopes.size:
        return None
    # Pairs at one time tell no slope: they might have stood at either end.
    rank = ranks.rank_within(ranks.inversions_cdf(parts), confidence) - int(np.count_nonzero(apart <= 0.0))
    lo, hi = (float(slopes[rank - 1]), float(slopes[-rank])) if rank > 0 else (-math.inf, math.inf)
    return Slope(float(np.median(slopes)), lo, hi)


def drift_pct_s(samples_ms: Samples, *, batch: int = 1, at_s: Samples | None = None) -> float | None:
    """The :func:`slope` alone, in percent of the median per second."""
    found = slope(samples_ms, batch=batch, at_s=at_s)
    return None if found is None else found.pct_s


def _times(values_ms: npt.NDArray[np.float64], batch: int, at_s: Samples | None) -> npt.NDArray[np.float64]:
    if at_s is None:
        elapsed: npt.NDArray[np.float64] = np.cumsum(values_ms) * (max(batch, 1) * 1e-3)
        return elapsed
    when = checked(at_s, "at_s")
    if when.shape != values_ms.shape:
        raise ParameterError(f"at_s: {when.size} times for {values_ms.size} samples")
    return when


def is_bimodal(samples: Samples, resolution: float = 0.0) -> bool | None:
    """Whether the samples form two separate, compact groups; None below 20 samples.

    The outer 5 % on each side are set aside, the rest is split where the variance within the groups is least. Two modes
    are reported if both hold 10 % of it, lie more than 1 % and two clock steps apart, and more than 5 standard
    deviations of the wider group (halves of a uniform distribution show 3.5; a long tail fails by its own width).
    """
    values = np.sort(checked(samples))
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
