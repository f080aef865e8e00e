"""Kernels that lie, on purpose or not, and honest ones: each gets the verdict that it deserves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import lab
from gpuopt.lab.kernels.judge import TaskError
from gpuopt.lab.kernels.verdicts import Verdict

SCALED = own_kernels.SCALE
LINE = "if (i < n) z[i] = 2 * x[i] + 1;"


def scaled_verdict(device: gpuopt.Device, body: str, level: str = "judge", **more: Any) -> Verdict:
    text = SCALED.replace(LINE, body)
    assert text != SCALED or body == LINE
    return lab.judge(text, own_kernels.scaled(), device=device, level=level, n=10_000, seed=5, **more)


MUTANTS = {
    "empty": ("if (i < n && n < 0) z[i] = 0;", "unwritten", "quick"),
    "every other element": ("if (i < n && i % 2 == 0) z[i] = 2 * x[i] + 1;", "unwritten", "quick"),
    "without the last of them": ("if (i < n / 64 * 64 || n % 64 == 16 && i < n) z[i] = 2 * x[i] + 1;", "size", "full"),
    "past the end": ("if (i < n) z[i] = 2 * x[i] + 1; if (i == 0) z[n] = 3;", "outside", "quick"),
    "before the start": ("if (i < n) z[i] = 2 * x[i] + 1; if (i == 0) z[-1] = 3;", "outside", "quick"),
    "its input": ("if (i < n) z[i] = 2 * x[i] + 1; if (i == 7) ((__global float*)x)[7] = 0;", "inputs", "quick"),
    "a copy": ("if (i < n) z[i] = x[i];", "inexact", "quick"),
    "half precision": ("if (i < n) z[i] = round(1024 * (2 * x[i] + 1)) / 1024;", "inexact", "quick"),
    "a NaN": ("if (i < n) z[i] = i == 77 ? NAN : 2 * x[i] + 1;", "nan", "quick"),
    "only over what looks like poison": (
        "if (i < n && (isnan(z[i]) || z[i] == 0)) z[i] = 2 * x[i] + 1;",
        "unwritten",
        "quick",
    ),
    "only for data that it knows": ("if (i < n) z[i] = x[0] == FIRSTf ? 2 * x[i] + 1 : 0;", "state", "full"),
    "includes a file": (
        'if (i < n) z[i] = 2 * x[i] + 1; }\n#include "/etc/hostname"\nvoid f(void) {',
        "refused",
        "judge",
    ),
    "a counter of its launches": (
        "if (i < n) z[i] = 2 * x[i] + 1; }\n__global int count = 0;\nvoid f(void) {",
        "refused",
        "judge",
    ),
}


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_kernel_that_is_wrong(device: gpuopt.Device, name: str) -> None:
    body, word, level = MUTANTS[name]
    if "FIRST" in body:
        first = own_kernels.scaled().problem(n=10_000, seed=5).inputs["x"][0]
        body = body.replace("FIRST", f"{float(first):.9g}" if "." in f"{float(first):.9g}" else f"{float(first):.9g}.0")
    found = scaled_verdict(device, body, level)
    assert found.word == word, str(found)
    assert not found.ok
    assert word in str(found)
    if word not in ("refused",):
        assert "n=" in found.reproducer


def test_state_between_launches(any_device: gpuopt.Device) -> None:
    text = """
    __kernel void kept(__global const float* x, __global float* z, __global int* flag, int n) {
        const int kept = flag[0] == 1234567;
        barrier(CLK_GLOBAL_MEM_FENCE);
        for (int i = get_local_id(0); i < n; i += 64) z[i] = kept ? 0 : 2 * x[i] + 1;
        if (get_local_id(0) == 0) flag[0] = 1234567;
    }
    """
    kernel = lab.Kernel(
        text,
        "kept",
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.scratch("flag", 1, "int32"), lab.value("n")],
        launch=lab.launch(groups=1, local=64),
        reference=lambda x: 2 * x + 1,
    )
    found = lab.judge(text, kernel, device=any_device, n=1000, level="full")
    assert found.word == "state", str(found)


def test_an_order_that_varies_is_told_or_allowed(device: gpuopt.Device) -> None:
    """Whole numbers are the same in any order; that many work-items add to one place is no fault."""
    text = """
    __kernel void histogram(__global const int* x, __global int* bins, int n) {
        const int i = get_global_id(0);
        if (i < n) atomic_add(&bins[x[i]], 1);
    }
    """
    kernel = lab.Kernel(
        text,
        "histogram",
        arguments=[
            lab.input("x", "n", "int32", low=0, high=16),
            lab.inout("bins", 16, "int32", data=np.zeros(16, np.int32)),
            lab.value("n"),
        ],
        launch=lab.launch(items="n"),
        reference=lambda x: {"bins": np.bincount(x, minlength=16)},
    )
    found = lab.judge(text, kernel, device=device, n=10_000)
    assert found.ok, str(found)


@pytest.mark.parametrize("level", ["quick", "full", "judge"])
def test_honest_kernels_pass(device: gpuopt.Device, level: str) -> None:
    for kernel, sizes in (
        (own_kernels.scaled(), {"n": 5000}),
        (own_kernels.saxpy(), {"n": 5000}),
        (own_kernels.total(), {"n": 5000}),
    ):
        found = lab.judge(own_text(kernel), kernel, device=device, level=level, **sizes)
        assert found.word == "ok", str(found)
        assert found.median_ms is not None
        assert found.median_ms > 0


def own_text(kernel: lab.Kernel) -> str:
    return {"scaled": own_kernels.SCALE, "saxpy": own_kernels.SAXPY, "total": own_kernels.SUM}[kernel.name]


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


def test_a_race_of_a_sum_in_floats_is_unstable_or_allowed(any_device: gpuopt.Device) -> None:
    found = lab.judge(own_kernels.SUM, own_kernels.total(), device=any_device, n=5000, repeatable=False)
    assert found.ok, str(found)
    assert any("runs may differ" in note for note in found.notes)


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
