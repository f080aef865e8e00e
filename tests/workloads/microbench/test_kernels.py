"""What the harness does not ask of microbenchmarks: that a check can fail, declared work, and tensor cores."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, problems
from gpuopt.lab.timing import verification
from gpuopt.selection import reads_ptx
from gpuopt.workloads.microbench import reference as oracle
from workloads.microbench.cases import VARIANTS, home


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
