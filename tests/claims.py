"""Made-up claims of a paper and made-up rows that test them."""

from __future__ import annotations

import json
from typing import Any

import study_rows
from gpuopt.papers import claims as data

Entry = dict[str, Any]
COMMAND = "gpuopt study spmv 512x512 -v paper"


def entry(name: str, printed: Any = None, direction: str | None = "more", **changed: Any) -> Entry:
    """A claim as it stands in a file: `paper:vectorized` over `paper:basic`, unless its fields are changed."""
    test = {
        "study": "sizes",
        "workload": "spmv",
        "of": "paper:vectorized",
        "over": "paper:basic",
        "quantity": "speedup",
        "subject": None,
        "direction": direction,
    }
    outer = {key: changed.pop(key) for key in list(changed) if key not in (*test, "dtype", "best")}
    return {
        "id": name,
        "where": "Figure 1",
        "says": f"{name} says this.",
        "source": "text",
        "printed": printed,
        "unit": "times" if {**test, **changed}["over"] else "GFLOP/s",
        "device": "HD 5870",
        "test": {**test, **changed},
        "untested": None,
        **outer,
    }


def untested(name: str, **changed: Any) -> Entry:
    """A claim without a test."""
    return entry(name, 3.5, unit="J", test=None, untested="energy", why="No energy is measured.") | changed


def document(*entries: Entry, **changed: Any) -> Entry:
    """A file of claims."""
    figures = [{"name": "Figure 1", "what": "A drawing.", "claims": [], "not": "It has no numbers."}]
    return {"schema": 1, "studies": {"sizes": COMMAND}, "claims": list(entries), "figures": figures, **changed}


def paper(*entries: Entry, **changed: Any) -> data.PaperClaims:
    """Claims as the loader returns them, of the paper catanzaro2010."""
    return data.parse(json.dumps(document(*entries, **changed)), "catanzaro2010")


def pair(
    speedup: float, noise: float = 0.005, blocks: int = 6, problem: str = "grid 512x512", **common: Any
) -> list[study_rows.Row]:
    """Rows of `paper:basic` and of `paper:vectorized`, which is ``speedup`` times as fast, with their blocks, whose
    ratios of times spread by ``noise`` to both sides."""
    made = []
    same = {"problem": problem, "baseline": "basic", "device_type": "gpu", **common}
    for variant, preset, ratio in (("basic", "paper:basic", 1.0), ("vectorized", "paper:vectorized", 1 / speedup)):
        named = {**same, "preset": preset, "params": {"LOCAL": 256}, "configuration": f"{variant}(LOCAL=256)"}
        named |= {"baseline": "basic(LOCAL=256)"}
        spread = [ratio * (1 + noise * (2 * block / max(1, blocks - 1) - 1)) for block in range(blocks)]
        made += [
            study_rows.timed("block", variant, 10 * each, **named, block=block, ratio=each)
            for block, each in enumerate(spread)
        ]
        whole = {"ratio": ratio, "ratio_lo": min(spread), "ratio_hi": max(spread), "blocks": blocks}
        verdict = "SAME" if blocks >= 6 else None
        made.append(study_rows.timed("summary", variant, 10 * ratio, noise, **named, **whole, verdict=verdict))
    return made
