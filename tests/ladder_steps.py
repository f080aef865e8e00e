"""A step of the ladder in a study, and the sentence of one."""

from __future__ import annotations

import study_rows
from study_rows import timed


def step(variant: str, median: float, *blocks: float, **values: object) -> list[study_rows.Row]:
    """A summary row and its blocks, given by their ratios to the baseline."""
    out = [timed("block", variant, median, block=i, ratio=ratio, baseline="basic") for i, ratio in enumerate(blocks)]
    return [*out, timed("summary", variant, median, **({"baseline": "basic"} | values))]
