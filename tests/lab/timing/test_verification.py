"""The check of a result after timing."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, MismatchError, problems
from gpuopt.lab.timing import verification
from gpuopt.problem import BoundPlan, Problem


class Output:
    """An array on a device that does not exist."""

    def __init__(self) -> None:
        self.values = np.zeros(4, np.float32)

    def fill_bytes(self, byte: int) -> None:
        self.values.view(np.uint8)[:] = byte

    def to_numpy(self) -> np.ndarray:
        return self.values.copy()

    def guards_intact(self) -> bool:
        return True


class Plan:
    """A plan that writes ones in its first ``good`` runs and nothing afterwards; or adds them up."""

    def __init__(self, output: Output, good: int = 1 << 30, adds: bool = False) -> None:
        self.output, self.good, self.adds = output, good, adds

    def run(self) -> None:
        self.good -= 1
        if self.good >= 0:
            self.output.values[:] = self.output.values + 1 if self.adds else 1

    def sample(self, count: int, batch: int = 1) -> dict[str, list[float]]:
        for _ in range(count * batch):
            self.run()
        return {"device_ms": [1.0] * count}


def check(timed: Plan, proof: Plan | None = None) -> None:
    bound: Any = BoundPlan.__new__(BoundPlan)
    inspect.unwrap(BoundPlan.__init__)(bound, timed, timed.output, proof)  # made-up plans are none of the core's
    problem: Any = Problem(
        "made up", "ones", np.dtype(np.float32), {}, 0, {}, np.ones(4), np.full(4, 1e-6), 16, lambda *_: bound
    )
    configuration = Configuration("basic")
    verification.verify(bound, problem, configuration)
    timed.sample(3)
    verification.check_again(bound, problem, configuration)


def test_a_plan_that_stops_writing_is_found() -> None:
    output = Output()
    check(Plan(output))
    for good in (1, 2, 4):  # after the first check, while it is timed, after the last sample
        with pytest.raises(MismatchError, match="4 of 4 elements are off"):
            check(Plan(Output(), good))


def test_a_plan_that_adds_to_its_output_is_found_at_once() -> None:
    with pytest.raises(MismatchError):
        check(Plan(Output(), adds=True))


def test_where_timed_runs_store_nothing_the_proof_does() -> None:
    output = Output()
    check(Plan(output, 0), Plan(output))
    with pytest.raises(MismatchError):
        check(Plan(output, 0), Plan(output, 1))


def test_a_kernel_of_ours_writes_over_the_poison(any_device: gpuopt.Device) -> None:
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    configuration = Configuration("basic")
    bound = problem.prepare(configuration, any_device)
    verification.verify(bound, problem, configuration)
    verification.check_again(bound, problem, configuration)
    other = problem.prepare(configuration, any_device)  # what it writes is looked for elsewhere
    with pytest.raises(MismatchError, match="elements are off"):
        verification.check_again(BoundPlan(other.prepared, bound.output), problem, configuration)


def test_a_nan_that_signals_is_a_wrong_result_and_no_warning() -> None:
    """Of random bytes one float in 512 is such a NaN."""
    result = np.array([0x7F800001], np.uint32).view(np.float32)
    with pytest.raises(MismatchError, match="1 of 1 elements are off"):
        verification.compare(result, np.ones(1), np.ones(1))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_errors_of_whole_numbers_are_not_computed_in_their_own_type(kind: str) -> None:
    """Squares of 119 are more than int8 holds, and the least number of a type has no negative."""
    for number in (118, np.iinfo(kind).max - 1):
        result = np.full(8, number, kind)
        found = verification.compare(result, result + 1, np.ones(8))
        assert (found["max_abs"], found["max_of_tol"]) == (1, 1)
        assert found["l2_rel"] == found["max_rel"] == 1 / float(number + 1)
        assert verification.compare(result, result, np.ones(8))["l2_rel"] == 0
    least = np.full(8, np.iinfo(kind).min, kind)
    assert verification.compare(least, least + 1, np.ones(8))["max_abs"] == 1


@pytest.mark.parametrize(("kind", "number", "off"), [("int64", 2**62, 200), ("uint64", 2**63, 1024)])
def test_whole_numbers_of_64_bits_are_compared_exactly(kind: str, number: int, off: int) -> None:
    """float64 does not tell them apart."""
    reference = np.full(4, number, kind)
    for result, wrong in (
        (reference + np.dtype(kind).type(off), reference),
        (reference, reference + np.dtype(kind).type(off)),
    ):
        with pytest.raises(MismatchError, match=rf"4 of 4 .* is {result[0]} instead of {wrong[0]} "):
            verification.compare(result, wrong, np.full(4, off - 0.5))
        assert verification.compare(result, wrong, np.full(4, float(off)))["max_abs"] == off


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-170, 1e-160, 1.0, 1e150, 1e160, 1e300, 1.7e308])
def test_the_mean_error_does_not_leave_float64(size: float) -> None:
    """Squares of 1e-170 and 1e170 do."""
    reference = np.full(3 * verification.PART, size)
    result = reference * (1.0 if size < 1e-307 else 1 - 1e-3)
    found = verification.compare(result, reference, np.full(reference.shape, size))
    assert found["l2_rel"] == pytest.approx(0.0 if size < 1e-307 else 1e-3, rel=1e-9)


def test_the_mean_error_of_parts_of_all_sizes_is_that_of_the_largest() -> None:
    part = verification.PART
    for sizes in ((1e-200, 1.0, 1e200), (1e200, 1e-200, 0.0), (0.0, 1e-200, np.inf), (np.nan, 1e200, 1e-320)):
        reference = np.repeat(sizes, part)
        result = reference * (1 - 1e-3)
        found = verification.compare(result, reference, np.full(reference.shape, 1e200))
        assert found["l2_rel"] == pytest.approx(1e-3, rel=1e-9)
    far = verification.compare(np.full(4, 1e300), np.full(4, 1e-300), np.full(4, 1e301))
    assert far["l2_rel"] == np.inf
    assert verification.compare(np.full(4, 1e-300), np.zeros(4), np.ones(4))["l2_rel"] == 0
