"""Effects of factors and of their pairs: which a design can tell, their intervals over blocks, and their verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuopt.checked import checked
from gpuopt.lab.rows.table import significant


@checked
@dataclass(frozen=True)
class Effect:
    """What a factor, or a pair of them, multiplies the speed by: a factor's mean over all settings of the others; of a
    pair how much more the one brings beside the other (below 1: they overlap). ``verdict`` is adjusted by Holm."""

    factors: tuple[str, ...]
    times: float
    lo: float
    hi: float
    verdict: str


def told(effect: Effect | None) -> str:
    """`1.17x [1.15, 1.20]`; `-` without one."""
    if effect is None:
        return "-"
    return f"{significant(effect.times)}x [{significant(effect.lo)}, {significant(effect.hi)}]"


def estimable(design: np.ndarray) -> list[bool]:
    """Which columns are no combination of the others."""
    rank = int(np.linalg.matrix_rank(design))
    return [int(np.linalg.matrix_rank(np.delete(design, at, axis=1))) < rank for at in range(design.shape[1])]


def tested(terms: Sequence[tuple[str, ...]], effects: np.ndarray) -> tuple[Effect, ...]:
    """Means over blocks with Student's intervals, and Holm's verdicts on all of them together."""
    from scipy import stats

    blocks = effects.shape[1]
    mean, error = effects.mean(axis=1), effects.std(axis=1, ddof=1) / math.sqrt(blocks)
    wide = float(stats.t.ppf(0.975, blocks - 1))
    with np.errstate(all="ignore"):
        p = 2 * stats.t.sf(np.abs(mean) / np.maximum(error, 1e-300), blocks - 1)
    sure, open_ = set[int](), True
    for place, at in enumerate(np.argsort(p)):
        open_ = open_ and bool(p[at] <= 0.05 / (len(terms) - place))
        if open_:
            sure.add(int(at))
    made = []
    for at, term in enumerate(terms):
        lo, mid, hi = (math.exp(mean[at] + way * wide * error[at]) for way in (-1, 0, 1))
        words = ("helps", "costs") if len(term) == 1 else ("more than the product", "less than the product")
        verdict = "undecided" if at not in sure else words[0] if mean[at] > 0 else words[1]
        made.append(Effect(term, mid, lo, hi, verdict))
    return tuple(made)
