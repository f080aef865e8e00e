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
import pytest

from gpuopt import Configuration, Device, problems
from gpuopt.configuration import complete
from gpuopt.resolution import Found
from gpuopt.workloads.gemm import choice, cpu_choice
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


@pytest.mark.parametrize("runtime", ["intel", "pocl"])
def test_tiles_on_cpus_are_near_the_fastest_that_were_measured(root: Path, runtime: str) -> None:
    times: dict[tuple[str, bool], dict[str, float]] = defaultdict(dict)
    for line in (root / f"results/cpu-2core/{runtime}-gemm-packed.jsonl").read_text().splitlines():
        row: dict[str, Any] = json.loads(line)
        times[row["shape"], row["transpose_a"]][row["configuration"]] = row["least_ms"]
    record = complete("gemm", Configuration("packed", WIDTH=16, VECTORS=4, DEPTH=256, PANELS=4))
    lost, lost_by_one = [], []
    for (name, transpose_a), measured in times.items():
        m, n, k = map(int, name.split("x"))
        taken = str(cpu_choice.fitted(record, 1, m, n, k, transpose_a))
        lost.append(math.log(measured[taken] / min(measured.values())))
        if str(record) in measured:
            lost_by_one.append(math.log(measured[str(record)] / min(measured.values())))
    assert len(lost) == 36
    assert math.exp(statistics.mean(lost)) < 1.05
    assert statistics.mean(lost) < statistics.mean(lost_by_one) / 2  # what one tile for all would lose


def test_tiles_on_cpus_keep_no_more_than_the_record() -> None:
    record = complete("gemm", Configuration("packed", ROWS=6, VECTORS=2, WIDTH=8))
    for m, n in ((1, 1), (7, 1000), (1000, 7), (333, 517), (4, 4096)):
        listed = cpu_choice.tiles(record, 1, m, n, 500)
        assert listed[0][:2] == (6, 2)
        assert len(listed) > 3
        assert all(tile.rows * tile.vectors <= 12 and tile.vectors <= 2 for tile in listed)
    other = Configuration("naive")
    assert cpu_choice.fitted(other, 1, 100, 1, 100, False) is other


def test_a_vector_takes_no_tile(any_device: Device) -> None:
    """Lines of dot products, or panels that are divided along k until each core has several."""
    record = complete("gemm", Configuration("packed", WIDTH=8))
    for sizes, beside, split in (((1, 8192, 8192), True, 4), ((8192, 1, 8192), False, 1), ((1, 64, 65536), True, 32)):
        found = cpu_choice.of_vector(record, 2, *sizes, beside)
        assert (found.variant, found.parameters["WIDTH"], found.parameters["SPLIT"]) == ("vector", 8, split)
    assert cpu_choice.of_vector(record, 64, 1, 8192, 300, True).parameters["SPLIT"] == 1
    other = Configuration("naive")
    assert cpu_choice.of_vector(other, 2, 1, 10, 10, True) is other
    if any_device.type == "cpu":
        for m, n in ((1, 700), (700, 1), (1, 1)):
            assert choice.chosen(any_device, np.dtype("float32"), None, choice.Sizes(1, m, n, 600)).variant == "vector"


def test_a_batch_has_one_launch() -> None:
    """So that what a launch takes hides less of a tile that is mostly edge."""
    record = complete("gemm", Configuration("packed", WIDTH=16, VECTORS=4, DEPTH=256, PANELS=4))
    one, many = (cpu_choice.fitted(record, batch, 16, 16, 16, False).parameters["VECTORS"] for batch in (1, 4096))
    assert (one, many) == (4, 1)


def test_what_makes_no_copies() -> None:
    facts = {"name": "H200", "vendor": "NVIDIA Corporation", "architecture": "sm_90"}
    limits = {"local_bytes": 48 << 10, "max_work_group_size": 1024, "extensions": ["cl_nv_device_attribute_query"]}
    gpu, cpu = (
        cast(Device, SimpleNamespace(type=kind, compute_units=132, clock_mhz=1980, **facts, **limits))
        for kind in ("gpu", "cpu")
    )
    sizes, kind = choice.Sizes(1, 4000, 4000, 4001), np.dtype("float32")
    listed = [one.configuration for one in choice.explain(gpu, kind, sizes)]
    assert listed[0].parameters["PASS"]
    found = choice.without_copies(gpu, kind, sizes, listed[0])
    assert found is not None
    assert found == next(one for one in listed if not one.parameters["PASS"])
    assert choice.without_copies(gpu, kind, sizes, found) is None
    assert choice.without_copies(cpu, kind, sizes, listed[0]) is None


def test_a_users_record_stands_above_the_model(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.type != "cpu":
        pytest.skip("a GPU's model has tests of its own")
    shipped = complete("gemm", Configuration("packed", WIDTH=16, VECTORS=4, DEPTH=256, PANELS=4))
    own = complete("gemm", Configuration("packed", ROWS=4, VECTORS=2, WIDTH=4))
    narrow, kind = choice.Sizes(1, 2000, 16, 500), np.dtype("float32")
    monkeypatch.setattr(choice, "found", lambda *asked: Found(shipped, "shipped", False))
    assert choice.chosen(device, kind, None, narrow).parameters["VECTORS"] == 1
    for transposed in (False, True):
        sizes = choice.Sizes(1, 500, 200, 500, transposed)
        assert choice.chosen(device, kind, None, sizes).parameters["PASS"] == transposed
    monkeypatch.setattr(choice, "found", lambda *asked: Found(own, "tuned here", True))
    assert choice.chosen(device, kind, None, narrow) == own
