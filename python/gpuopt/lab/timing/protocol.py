"""How much measuring is enough, and where the time of a sweep went.

A comparison takes as many blocks as Holm over its comparisons needs for any verdict (``statistics.blocks_for``), and at
least the protocol's least count. The quick protocol stops there: 10 blocks for up to 25 comparisons, 16 for up to 1638,
known before the first one. The short one does too, with visits of a few milliseconds. The full one goes on until the
intervals are narrow; it looks at their widths and not at what they say, and at the protocol's counts only, so that
looking again adds no false verdicts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gpuopt.lab.timing import statistics


@dataclass(frozen=True)
class Protocol:
    """How much measuring is enough. Times in seconds, targets as fractions; the name stands in every row."""

    name: str
    all_levels: bool  # search every level of every parameter, or take the standard one
    warm_up_s: float
    warm_up_cap_s: float
    search_min_s: float
    search_cap_s: float
    search_target: float  # half-width of the median's interval at which a search stops
    visit_s: float  # samples of one visit in a block; at least `visit_samples`
    visit_samples: int
    blocks: tuple[int, ...]  # block counts at which a comparison may stop
    block_tries: int  # a block whose baseline drifts is taken again, up to this many times in all
    target: float  # half-width at which it does, infinite where none is asked for


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        # One level a parameter, a fixed budget, intervals as obtained.
        Protocol("quick", False, 0.05, 0.25, 0.0, 0.0, 1.0, 0.03, 3, statistics.BLOCK_STEPS[1:4], 1, math.inf),
        Protocol("short", False, 0.02, 0.1, 0.0, 0.0, 1.0, 0.006, 3, statistics.BLOCK_STEPS[1:4], 1, math.inf),
        Protocol("full", True, 0.1, 2.0, 0.2, 5.0, 0.01, 0.04, 3, statistics.BLOCK_STEPS, 3, 0.01),
    )
}


class PhaseTimer:
    """Where the wall time of a sweep went. What is left over is what the lab itself took."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begin

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self.start

    @property
    def harness_s(self) -> float:
        return self.wall_s - sum(self.spent.values())
