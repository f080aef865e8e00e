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


def test_lines_that_are_too_long_are_refused(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^width: whole lines of 4611686018427387905 scalars make"):
        problems.microbenchmark("copy", bytes=4096, width=2**62 + 1, device=any_device)


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


def tried(variant: str, outputs: int = 4096, trips: int = 3, width: int = 64, **parameters: int) -> oracle.Expected:
    dtype = np.dtype(np.float32)
    source = oracle.source(
        variant if oracle.has_own_source(variant) else "", 4096, width, dtype, np.random.default_rng(0)
    )
    return oracle.expected(variant, oracle.Case(source, width, trips, parameters, outputs))


def test_uniform_neighbours_take_one_path_and_divergent_ones_many() -> None:
    own = tried("branches", PATHS=32, DIVERGENT=1, LENGTH=16).values
    alike = tried("branches", PATHS=32, DIVERGENT=0, LENGTH=16).values
    single = tried("branches", PATHS=1, DIVERGENT=0, LENGTH=16).values
    # An item and the one 32 later have the same data: another result means another path.
    assert np.array_equal(alike.reshape(-1, 64)[:, :32], alike.reshape(-1, 64)[:, 32:])
    firsts = np.sort(alike.reshape(-1, 64)[:32, 0])
    assert np.array_equal(own.reshape(-1, 32)[0], own.reshape(-1, 32)[1])
    assert np.array_equal(single.reshape(-1, 32)[0], single.reshape(-1, 32)[1])
    tolerance = tried("branches", PATHS=32, DIVERGENT=1, LENGTH=16).tolerance
    assert np.diff(firsts).min() > 10 * float(np.max(tolerance))


def test_long_branches_are_followed_from_where_their_start_is_forgotten() -> None:
    """Trips by twice as many: what is left out of the oracle's loop changes nothing."""
    few, many = (tried("branches", trips=trips, PATHS=4, DIVERGENT=1, LENGTH=64).values for trips in (400, 404))
    assert np.abs(few - many).max() < 1e-12


def test_the_forms_of_the_activation_matrix_follow_from_the_distances() -> None:
    distances, pows, exps, by_pown = (tried("cache_reuse", outputs=1024, MATH=math) for math in range(4))
    assert np.array_equal(distances.values, pows.values)
    assert distances.tolerance == 0
    assert np.allclose(exps.values, np.exp(-pows.values / 2**24), rtol=1e-14)
    assert np.array_equal(exps.values, by_pown.values)
    assert exps.values.std() > 100 * np.max(exps.tolerance)
    # One term that is left out is seen: terms are a sixty-fourth of a sum, the tolerance far less.
    assert np.max(pows.tolerance / np.maximum(pows.values, 1)) < 1e-4
