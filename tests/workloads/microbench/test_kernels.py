"""Every microbenchmark at every level, by data type and at awkward sizes, held against its NumPy form."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, problems
from gpuopt.lab.timing import verification
from gpuopt.selection import reads_ptx
from gpuopt.workloads.microbench import reference as oracle

VARIANTS = gpuopt.variants("microbench")


def levels() -> list[Configuration]:
    """The last level of each parameter with the first of the next, others at the standard ones; two draws of all."""
    found = []
    for variant in VARIANTS:
        standard, ring = {p.name: p.standard for p in variant.parameters}, variant.parameters
        for p, after in zip(ring, [*ring[1:], *ring[:1]], strict=True):
            ends = {after.name: after.levels[0], p.name: p.levels[-1]}
            found.append(Configuration(variant.name, **(standard | ends)))
        if len(ring) == 1:
            found.append(Configuration(variant.name, **{ring[0].name: ring[0].levels[0]}))
        draw = random.Random(variant.name)
        for _ in range(2):
            found.append(Configuration(variant.name, **{p.name: draw.choice(p.levels) for p in variant.parameters}))
    return list(dict.fromkeys(found))


def check(device: gpuopt.Device, configuration: Configuration, dtype: str, size: int, width: int, trips: int) -> None:
    try:
        problem = problems.microbenchmark(configuration, dtype, size, width=width, trips=trips, device=device)
        bound = problem.prepare(configuration, device)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))
    verification.verify(bound, problem, configuration)
    bound.prepared.run()
    verification.check_again(bound, problem, configuration)
    assert sum(bound.work["bytes"].values()) + bound.work["flops"] + sum(bound.work["special"].values()) > 0


def home(variant: str) -> str:
    """A dtype that the variant is for."""
    dtypes = next(row.dtypes for row in VARIANTS if row.name == variant)
    return "float32" if "float32" in dtypes else dtypes[-1]


@pytest.mark.thin(8)
@pytest.mark.parametrize("configuration", levels(), ids=str)
def test_levels(device: gpuopt.Device, configuration: Configuration) -> None:
    check(device, configuration, home(configuration.variant), 1 << 16, 128, 5)


@pytest.mark.thin(5)
@pytest.mark.parametrize(("variant", "dtype"), [(v.name, dtype) for v in VARIANTS for dtype in v.dtypes])
def test_every_dtype(device: gpuopt.Device, variant: str, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    check(device, Configuration(variant), dtype, 1 << 15, 64, 3)


@pytest.mark.parametrize(("size", "width", "trips"), [(1, 0, 1), (5000, 0, 2), (100_000, 0, 7), (123_456, 96, 1)])
@pytest.mark.parametrize("variant", [v.name for v in VARIANTS])
def test_every_size(device: gpuopt.Device, variant: str, size: int, width: int, trips: int) -> None:
    check(device, Configuration(variant), home(variant), size, width, trips)


@pytest.mark.parametrize("variant", [v.name for v in VARIANTS])
def test_a_wrong_result_is_seen(device: gpuopt.Device, variant: str) -> None:
    """The check can fail: what was written for other data does not pass."""
    dtype = home(variant)
    try:
        problem = problems.microbenchmark(variant, dtype, 1 << 15, width=64, trips=3, device=device)
        other = problems.microbenchmark(variant, dtype, 1 << 15, width=64, trips=3, seed=1, device=device)
        bound = other.prepare(Configuration(variant), device)
    except gpuopt.UnsupportedError as error:
        pytest.skip(str(error))
    if np.array_equal(problem.reference, other.reference):
        pytest.skip("its result does not depend on the data")
    with pytest.raises(gpuopt.MismatchError):
        verification.verify(bound, problem, Configuration(variant))


TENSOR = [row.name for row in VARIANTS if row.family == "tensor"]


@pytest.mark.parametrize("variant", TENSOR)
def test_tensor_cores_need_ptx(device: gpuopt.Device, variant: str) -> None:
    if reads_ptx(device):
        problem = problems.microbenchmark(f"{variant}(CHAINS=4)", trips=3, device=device)
        warps = problem.reference.size // 32
        depth = 8 if variant == "mma_tf32" else 16
        work = problem.prepare(Configuration(variant, CHAINS=4), device).work
        assert work["special"] == {variant: 2 * 16 * 8 * depth * warps * 4 * 16 * 3}
        assert work["flops"] == 0
        return
    with pytest.raises(gpuopt.UnsupportedError, match="written in PTX") as caught:
        problems.microbenchmark(variant, device=device)
    assert device.name in str(caught.value)


@pytest.mark.parametrize("variant", TENSOR)
def test_every_step_of_tensor_cores_adds_the_same_whole_numbers(variant: str) -> None:
    source = oracle.source("", 128, 0, np.dtype(np.float32), np.random.default_rng(0))

    def after(trips: int, chains: int = 8) -> np.ndarray:
        case = oracle.Case(source, 128, trips, {"CHAINS": chains, "LOCAL": 64, "GROUPS": 4}, 256)
        expected = oracle.expected(variant, case)
        assert expected.tolerance == 0
        return expected.values

    added = after(2) - after(1)
    assert np.array_equal(after(1024) - after(1), 1023 * added)
    assert np.array_equal(added, 8 * (after(2, 1) - after(1, 1)))
    assert np.abs(added).max() > 0
    assert len(np.unique(after(1)[:16])) > 8
    assert after(1).shape == (256,)
    assert np.array_equal(after(1)[:32], after(1)[-32:])
