"""The order in which blocks of views are visited. Views that lie close together measure nearly the same, so that
jumping far around the circle converges faster."""

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
    """The views of each block: of ``subsets`` interleaved blocks, or as ``subsets`` lists them, with every view once.
    Raises ParameterError."""
    if isinstance(subsets, np.ndarray) and subsets.ndim == 0:
        subsets = subsets[()]
    if not isinstance(subsets, (list, tuple, np.ndarray)):
        many = checks.count("subsets", subsets)
        if many > views:
            raise ParameterError(f"subsets: {many} are more than the {views} views; give at most {views}")
        return [np.arange(first, views, many) for first in range(many)]
    for blocks_or_views in (subsets, *subsets[: views + 1]):  # first: there may be more than memory holds
        has_many = hasattr(blocks_or_views, "__len__") and getattr(blocks_or_views, "shape", None) != ()
        if has_many and len(blocks_or_views) > views:
            raise ParameterError(f"subsets: they name more than the {views} views; give each view once")
    try:
        blocks = [np.atleast_1d(np.asarray(block)) for block in subsets]
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ParameterError(f"subsets: a block cannot be read ({error}); give lists of view numbers") from error
    for block in blocks:
        if block.ndim != 1 or not block.size or block.dtype.kind not in "iu":
            raise ParameterError("subsets: each block is a list of at least one view number; or give how many blocks")
    if not blocks or not np.array_equal(np.sort(np.concatenate(blocks)), np.arange(views)):
        raise ParameterError(f"subsets: the blocks do not hold each of the views 0 to {views - 1} exactly once")
    return [block.astype(np.intp) for block in blocks]


def visits(order: str, places: Float64Array, seed: int) -> Callable[[], np.ndarray]:
    """A function that returns the order of the blocks for the next iteration. ``places`` are the blocks' angles as
    fractions of the circle."""
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
    """The blocks in the order in which steps of the golden ratio around the circle reach them."""
    return np.argsort(np.argsort(np.arange(blocks) * _GOLDEN % 1))


def _far(places: Float64Array) -> np.ndarray:
    """Each time the block that is farthest on the circle from all those before; of several the first."""
    found = np.zeros(len(places), dtype=np.intp)
    nearest = np.full(len(places), np.inf)
    for i in range(1, len(places)):
        away = np.abs(places - places[found[i - 1]])
        # Rounded, so that rounding errors do not choose between equal distances.
        nearest = np.minimum(nearest, np.round(np.minimum(away, 1 - away), 9))
        nearest[found[i - 1]] = -1
        found[i] = np.argmax(nearest)
    return found
