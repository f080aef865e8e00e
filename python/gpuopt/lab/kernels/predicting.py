"""What times of some configurations say about the others, for the order in which a search tries them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from gpuopt.lab.kernels.space import Level

REACH = 9.0  # levels of one parameter after which two times have exp(-1) in common
NOISE = 0.05  # of the variance of the logarithm of times: what no parameter explains


class Prediction:
    """A Gaussian process over the logarithm of times. Its covariance is the mean over the parameters of
    exp(-distance / REACH), plus the product, where a distance is that of two levels in their order. What could not run
    counts as the slowest that did."""

    def __init__(self, points: Sequence[tuple[Level, ...]]) -> None:
        columns = []
        for levels in zip(*points, strict=True):
            place = {level: at for at, level in enumerate(sorted(set(levels), key=_order))}
            columns.append([place[level] for level in levels])
        self._places = np.array(columns, np.float64).T / REACH
        self._known = np.zeros(0, np.intp)
        self._weights = np.zeros(0)

    def learn(self, times: Mapping[int, float]) -> None:
        """Takes the times of points by their indices, in any unit; infinite ones could not run."""
        self._known = np.fromiter(times, np.intp)
        given = np.fromiter(times.values(), np.float64)
        ran = np.isfinite(given) & (given > 0)
        slowest = given[ran].max(initial=0.0) or 1.0
        logs = np.log(np.where(ran, given, slowest))
        together = self._covariance(self._known) + NOISE * np.eye(len(given))
        self._weights = np.linalg.solve(together, logs - logs.mean())

    def best_of(self, indices: Sequence[int]) -> int:
        """Which of these points it predicts to be the fastest."""
        return indices[int(np.argmin(self._covariance(np.array(indices)) @ self._weights))]

    def _covariance(self, indices: np.ndarray) -> np.ndarray:
        """Of these points, shape (n,), with all that are known, shape (n, known)."""
        apart = np.abs(self._places[indices][:, None, :] - self._places[self._known][None, :, :])
        return np.asarray(np.exp(-apart).mean(axis=2) + np.exp(-apart.sum(axis=2)))


def _order(level: Level) -> tuple[bool, float, str]:
    """Numbers by value, then texts."""
    return (True, math.inf, level) if isinstance(level, str) else (False, float(level), "")
