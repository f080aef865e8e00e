"""Rows of GEM that nobody measured: the paper's steps, its factorial and whole calls, with gains that are known."""

from __future__ import annotations

from itertools import chain
from math import prod

from gpuopt import papers
from gpuopt.configuration import complete
from gpuopt.workloads.gem.problem import CALL, call_of, factorial, staged
from study_rows import Row, row, timed

BASIC = complete("gem", papers.preset("gem", "paper:basic")).parameters
BASIC_MS, BLOCKS, TOGETHER = 10.0, 16, 0.8  # the last: what of their product several gains reach
GAINS = {"SPECIALIZED": 1.7, "LOCAL": 1.3, "REGISTER_SUM": 1.3, "VERTEX": 1.6, "ATOMS": 1.1, "VECTOR": 0.9, "MATH": 0.5}
TEXELS = "an image's texels are 4 wide: no VECTOR=2"


def gain_of(params: dict[str, int]) -> float:
    changed = [name for name in BASIC if params[name] != BASIC[name]]
    several = len({name.replace("MATH", "VECTOR") for name in changed}) > 1
    return prod(GAINS.get(name, 1.0) for name in changed) * (TOGETHER if several else 1.0)


def measured(variant: str, time_ms: float, **values: object) -> list[Row]:
    """The blocks and the summary of a row, whose ratios to the basic kernel stray a little from block to block."""
    same: Row = {"workload": "gem", "problem": "globule", "sizes": {"atoms": 100, "points": 400}, "params": {}}
    same |= {"baseline": "basic", "role": "variant", "counted": {"pair": 4e4}, "flops": None, "gflop_s": None} | values
    ratio = time_ms / BASIC_MS
    blocks = [
        timed("block", variant, time_ms, **same, block=b, ratio=ratio * (1 + 1e-4 * (b % 3 - 1))) for b in range(BLOCKS)
    ]
    ends: Row = {"ratio": ratio, "ratio_lo": ratio * 0.99, "ratio_hi": ratio * 1.01, "verdict": "FAST"}
    return [*blocks, timed("summary", variant, time_ms, **same, **ends, blocks=BLOCKS)]


def pairs(params: dict[str, int], preset: str | None = None) -> list[Row]:
    full = BASIC | params
    name = "basic" if preset == "paper:basic" else f"pairs({', '.join(f'{k}={v}' for k, v in sorted(full.items()))})"
    return measured("pairs", BASIC_MS / gain_of(full), params=full, configuration=name, preset=preset)


def refused(params: dict[str, int], reason: str, preset: str | None = None) -> Row:
    full = BASIC | params
    name = f"pairs({', '.join(f'{k}={v}' for k, v in sorted(full.items()))})"
    facts: Row = {"workload": "gem", "problem": "globule", "sizes": {"atoms": 100, "points": 400}}
    facts |= {"params": full, "configuration": name, "preset": preset, "status": "unsupported", "reason": reason}
    return row("summary", "pairs", **facts)


def steps() -> list[Row]:
    made = [r for s in papers.load("gem").steps for r in pairs(s.configuration.parameters, s.preset)]
    return [*made, *measured("tiled", 0.4, configuration="tiled(VERTICES=2)", params={"VERTICES": 2}, preset=None)]


def calls() -> list[Row]:
    """Whole calls, half a millisecond longer than their kernels."""
    times = {CALL: 0.4, call_of("paper:basic"): BASIC_MS, call_of("paper:amd_best"): 4.0}
    made = [measured(name, ms + 0.5, configuration=name, role="call", preset=None) for name, ms in times.items()]
    return list(chain(*made))


def is_preset(params: dict[str, int]) -> bool:
    return (BASIC | params) in [BASIC | step.configuration.parameters for step in papers.load("gem").steps]


def design() -> list[Row]:
    """The summaries of the paper's factorial and of `staged` beside its steps; an image and vectors of two do not go
    together."""
    made: list[Row] = []
    for params in (cell.parameters for cell in [*factorial(), *staged()]):
        if not is_preset(params):
            made += [refused(params, TEXELS)] if params["ATOMS"] >= 4 and params["VECTOR"] == 2 else pairs(params)[-1:]
    return made
