"""Exact distributions of rank statistics, by counting. Why not SciPy: docs/decisions/statistics.md."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from gpuopt._core import ParameterError

Values = npt.NDArray[np.float64]


def _cumulated(pmf: Values) -> Values:
    cdf: Values = np.minimum(np.cumsum(pmf), 1.0)
    cdf.flags.writeable = False
    return cdf


@functools.lru_cache(maxsize=128)
def binomial_half_cdf(n: int) -> Values:
    """P(Bin(n, 1/2) <= k) for k = 0 .. n."""
    log_factorial = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    log_pmf = log_factorial[n] - log_factorial - log_factorial[::-1] - n * math.log(2.0)
    return _cumulated(np.exp(log_pmf))


@functools.lru_cache(maxsize=64)
def signed_rank_cdf(n: int) -> Values:
    """P(W <= w) for w = 0 .. n (n + 1) / 2: W is the sum of those of the ranks 1 .. n for which a fair coin says so."""
    pmf = np.ones(1)
    for rank in range(1, n + 1):
        grown = np.zeros(pmf.size + rank)
        grown[: pmf.size] += pmf
        grown[rank:] += pmf
        pmf = grown / 2.0
    return _cumulated(pmf)


@functools.lru_cache(maxsize=64)
def inversions_cdf(n: int) -> Values:
    """P(D <= d) for d = 0 .. n (n - 1) / 2: D counts the pairs of a random permutation of n that stand inverted."""
    pmf = np.ones(1)
    for count in range(2, n + 1):
        pmf = np.convolve(pmf, np.full(count, 1.0 / count))
    return _cumulated(pmf)


def rank_within(cdf: Values, confidence: float) -> int:
    """The largest j with cdf[j - 1] <= (1 - confidence) / 2, 0 where there is none: between the j-th from below and the
    j-th from above lies the interval that a symmetric rank statistic of this distribution gives."""
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence}: expected a level between 0 and 1, such as 0.95")
    limit = (1.0 - confidence) / 2.0 * (1.0 + 1e-9)  # the slack only settles ties such as confidence=0.5, n=2
    return int(np.searchsorted(cdf, limit, side="right"))


def walsh_averages(values: Values) -> Values:
    """The means of all pairs of (n,) values, each with itself too: (n (n + 1) / 2,), in ascending order."""
    first, second = _pairs(values.size)
    averages: Values = np.sort((values[first] + values[second]) / 2.0)
    return averages


@functools.lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    first, second = np.triu_indices(n)
    return first, second
