"""In which order blocks of views are visited: neighbours tell the same, so that far jumps converge faster."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.tomo import checks
from gpuopt.tomo.checks import Float64Array

ORDERS = ("sequential", "random", "golden", "max_distance")

_GOLDEN = (math.sqrt(5) - 1) / 2


def blocks_of(views: int, subsets: Any) -> list[np.ndarray]:
    """``subsets`` interleaved blocks of views, or the blocks it lists: each view once. Raises ParameterError."""
    if not isinstance(subsets, (list, tuple, np.ndarray)):
        many = checks.count("subsets", subsets)
        if many > views:
            raise ParameterError(f"subsets: {many} are more than the {views} views; give at most {views}")
        return [np.arange(first, views, many) for first in range(many)]
    blocks = [np.atleast_1d(np.asarray(block)) for block in subsets]
    for block in blocks:
        if block.ndim != 1 or not block.size or not np.issubdtype(block.dtype, np.integer):
            raise ParameterError("subsets: each block is a list of at least one view number; or give how many blocks")
    if not np.array_equal(np.sort(np.concatenate(blocks)), np.arange(views)):
        raise ParameterError(f"subsets: the blocks do not hold each of the views 0 to {views - 1} exactly once")
    return blocks


def visits(order: str, places: Float64Array, seed: int) -> Callable[[], np.ndarray]:
    """What gives the order of the blocks for each iteration in turn; ``places`` are their fractions of the circle."""
    if order not in ORDERS:
        raise ParameterError(f"order: {order!r} is not known; give one of {', '.join(map(repr, ORDERS))}")
    blocks = len(places)
    if order == "random":
        random = np.random.default_rng(seed)
        return lambda: random.permutation(blocks)
    if order == "max_distance":
        kept = _far(places)
    else:
        kept = _golden(blocks) if order == "golden" else np.arange(blocks)
    return lambda: kept


def _golden(blocks: int) -> np.ndarray:
    """Steps of the golden ratio around the circle, each to the block of that rank."""
    return np.argsort(np.argsort(np.arange(blocks) * _GOLDEN % 1))


def _far(places: Float64Array) -> np.ndarray:
    """Each time the block farthest on the circle from all visited before; of equals the first."""
    found = np.zeros(len(places), dtype=np.intp)
    nearest = np.full(len(places), np.inf)
    for i in range(1, len(places)):
        away = np.abs(places - places[found[i - 1]])
        # Angles a rounding error apart must not decide between equals.
        nearest = np.minimum(nearest, np.round(np.minimum(away, 1 - away), 9))
        nearest[found[i - 1]] = -1
        found[i] = np.argmax(nearest)
    return found
