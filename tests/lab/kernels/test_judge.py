"""What a judge takes, and what it refuses; its verdicts are in test_honest.py and test_mutants.py."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest

import gpuopt
import honest_elements
import honest_sums
import own_kernels
from gpuopt import lab
from gpuopt.lab.kernels.judge import TaskError

SCALED = own_kernels.SCALE


def test_a_foreign_kernel_with_levels_and_launch_of_its_own(any_device: gpuopt.Device) -> None:
    text = """
    __kernel void mine(__global const float* x, __global float* z, int n) {
        for (int i = get_global_id(0) * W; i < n && i < (get_global_id(0) + 1) * W; ++i) z[i] = mad(2.0f, x[i], 1.0f);
    }
    """
    found = lab.judge(
        text,
        own_kernels.scaled(),
        name="mine",
        parameters={"W": [8]},
        launch=lab.launch(items="n / W", local=32),
        device=any_device,
        n=4099,
    )
    assert found.ok, str(found)
    assert str(found.configuration) == "mine(W=8)"


@pytest.mark.parametrize(("tolerance", "what"), [(10.0, "zeros"), (1e-3, "inputs rounded"), (4.0, "x itself")])
def test_a_task_that_wrong_results_pass_is_refused(any_device: gpuopt.Device, tolerance: float, what: str) -> None:
    with pytest.raises(TaskError, match=what):
        lab.judge(SCALED, own_kernels.scaled(tolerance=tolerance), device=any_device, n=1000)


def test_a_task_of_a_constant_result_is_no_task(any_device: gpuopt.Device) -> None:
    kernel = own_kernels.scaled(reference=lambda n: np.zeros(n))
    with pytest.raises(TaskError, match="zeros"):
        lab.judge(SCALED, kernel, device=any_device, n=1000)


def test_levels_of_judging_are_named(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^level: "):
        lab.judge(SCALED, own_kernels.scaled(), device=any_device, level="hard", n=10)


def test_one_drawing_whose_result_is_near_zero_is_no_bad_task(
    device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum of numbers around zero lies within the tolerance of zero for a seed in some sixty."""
    task = own_kernels.total()

    def sum_of(seed: int) -> tuple[float, float]:
        arrays = task.task.data(task.task.numbers({"n": 5000}, {}, ["WG", "GROUPS"]), {}, seed)
        exact, allowed = task.task.right(task.task.numbers({"n": 5000}, {}, ["WG", "GROUPS"]), arrays)
        return abs(float(exact["sum"][0])), float(allowed["sum"][0])

    near = next(seed for seed in range(5000) if (found := sum_of(seed))[0] < found[1])
    drawn = iter([near, near, 1, 2, 3, 4])
    monkeypatch.setattr("gpuopt.lab.kernels.judge.secrets.randbelow", lambda most: next(drawn))
    assert lab.judge(own_kernels.SUM, task, device=device, level="quick", n=5000).ok
    with pytest.raises(TaskError, match="zeros"):
        lab.judge(own_kernels.SUM, task, device=device, level="quick", n=5000, seed=near)


def test_a_kernel_that_outruns_its_device_is_flagged(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever work is claimed, the bound is of the results, which must be written."""
    slow = SimpleNamespace(ceilings={"dram_copy": SimpleNamespace(rate=1e-6)})
    monkeypatch.setattr("gpuopt.lab.device.profile.stored", lambda device: slow)
    honest = honest_elements.in_place()
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="quick", **honest.sizes)
    assert (found.word, found.flags, found.ok) == ("ok", ("impossible",), False)


def test_a_long_sum_is_told_what_to_declare(any_device: gpuopt.Device) -> None:
    honest = honest_sums.long_sums(absolute=5e-5)
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="quick", seed=5, **honest.sizes)
    assert found.word == "inexact"
    assert "give tolerance=lab.rounding(...)" in found.says


def test_runs_that_differ_are_told_by_how_much(any_device: gpuopt.Device) -> None:
    honest = honest_sums.any_order()
    found = lab.judge(honest.text, honest.kernel, device=any_device, level="full", repeatable=False, **honest.sizes)
    assert any(re.search(r"runs may differ .* 5 did by \S+", note) for note in found.notes)


def test_an_audit_sees_what_passes_beside_results_that_are_not_finite(any_device: gpuopt.Device) -> None:
    honest = honest_elements.not_finite(tolerance=0.5)
    with pytest.raises(TaskError, match="inputs rounded to the next lower type would pass"):
        lab.judge(honest.text, honest.kernel, device=any_device, **honest.sizes)


def test_a_task_of_long_sums_is_told_what_to_declare(any_device: gpuopt.Device) -> None:
    text = own_kernels.SUM
    positive = [lab.input("x", "n", low=0.0), *own_kernels.total().task.arguments[1:]]
    sizes = {"device": any_device, "level": "quick", "n": 100_000}
    with pytest.raises(TaskError, match=r"inputs rounded .* or tolerance=lab.rounding\(...\) where they are summed"):
        lab.judge(text, own_kernels.total(arguments=positive, tolerance=None), **sizes)
    assert lab.judge(text, own_kernels.total(arguments=positive), **sizes).ok
