"""The model that chooses a product's configuration, beside the times it was made from."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from gpuopt import Device, problems
from gpuopt.configuration import complete
from gpuopt.workloads.gemm import choice
from gpuopt.workloads.gemm.shapes import score

H200 = cast(Device, SimpleNamespace(compute_units=132, clock_mhz=1980))


def times_of(path: Path) -> dict[str, dict[str, float]]:
    """Milliseconds of each configuration of each shape; the shortest, where it was measured on several machines."""
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        here = times[row["shape"]]
        here[row["configuration"]] = min(row["ms"], here.get(row["configuration"], math.inf))
    return times


def test_what_the_model_takes_is_near_the_fastest_that_was_measured(root: Path) -> None:
    measured = times_of(root / "results/h200/gemm-tiles.jsonl")
    lost, off = {}, []
    for shape in problems.gemm_shapes():
        sizes, times = choice.Sizes(shape.batch, shape.m, shape.n, shape.k), measured[shape.name]
        made = (*choice._tiled(H200, np.dtype("float32"), sizes), *choice._streamed(H200, np.dtype("float32"), sizes))
        known = {str(complete("gemm", one.configuration)): 1e3 * one.seconds for one in made}
        known = {name: ms for name, ms in known.items() if name in times}
        if not known:
            continue
        off += [math.log(ms / times[name]) for name, ms in known.items()]
        lost[shape] = times[min(known, key=lambda name: known[name])] / min(times[name] for name in known)
    assert len(lost) > 30  # of other shapes, no configuration that is listed now was timed
    assert len(off) > 200
    assert statistics.stdev(off) < 0.2
    assert abs(statistics.mean(off)) < 0.1
    assert score(lost) < 1.03, {shape.name: ratio for shape, ratio in lost.items() if ratio > 1.1}
