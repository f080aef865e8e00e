"""Faults of reductions, soft maxima, in-place kernels and loud ones, each with the verdict that it deserves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import lab
from gpuopt.lab.kernels.judge import TaskError

SOFTMAX = """
__kernel void softmax(__global const float* x, __global float* z, int rows, int columns) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    __global const float* a = x + row * columns;
    float top = a[0], sum = 0;
    for (int i = 1; i < columns; ++i) top = max(top, a[i]);
    for (int i = 0; i < columns; ++i) sum += exp(a[i] - top);
    for (int i = 0; i < columns; ++i) z[row * columns + i] = exp(a[i] - top) / sum;
}
"""


def softmax(**more: Any) -> lab.Kernel:
    def reference(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    shape = ("rows", "columns")
    return lab.Kernel(
        SOFTMAX,
        "softmax",
        arguments=[lab.input("x", shape), lab.output("z", shape), lab.value("rows"), lab.value("columns")],
        launch=lab.launch(items="rows", local=1),
        reference=reference,
        **more,
    )


def test_zeros_for_a_soft_maximum_of_long_rows(any_device: gpuopt.Device) -> None:
    """Each element is about 1e-4: an absolute error of that size lets zeros through."""
    zeros = SOFTMAX.replace("exp(a[i] - top) / sum;", "0;")
    with pytest.raises(TaskError, match="zeros"):
        lab.judge(zeros, softmax(tolerance=1e-3), device=any_device, rows=4, columns=10_000)
    found = lab.judge(zeros, softmax(), device=any_device, level="quick", rows=4, columns=10_000)
    assert found.word == "inexact"
    assert lab.judge(SOFTMAX, softmax(), device=any_device, level="full", rows=4, columns=999).ok


def test_a_tree_without_its_barrier(any_device: gpuopt.Device) -> None:
    text = own_kernels.SUM.replace("        barrier(CLK_LOCAL_MEM_FENCE);\n", "")
    found = lab.judge(text, own_kernels.total(), device=any_device, n=50_000)
    assert found.word in ("inexact", "nan", "unstable", "compiler"), str(found)


def test_a_local_array_that_is_too_short(any_device: gpuopt.Device) -> None:
    text = own_kernels.SUM.replace("__local float held[WG];", "__local float held[16];")
    levels = {"GROUPS": [8], "WG": [16]}
    assert lab.judge(text, own_kernels.total(), parameters=levels, device=any_device, n=50_000).ok
    levels = {"GROUPS": [8], "WG": [256]}
    found = lab.judge(text, own_kernels.total(), parameters=levels, device=any_device, n=50_000)
    assert not found.ok
    assert found.word in ("inexact", "nan", "unstable", "outside", "crash", "runtime", "compiler", "seed"), str(found)


def test_in_place_declared_as_what_it_is_and_as_what_it_is_not(any_device: gpuopt.Device) -> None:
    text = (
        "__kernel void twice(__global float* x, int n) { const int i = get_global_id(0); if (i < n) x[i] = 2 * x[i]; }"
    )
    launch = lab.launch(items="n")
    honest = lab.Kernel(
        text,
        "twice",
        arguments=[lab.inout("x", "n"), lab.value("n")],
        launch=launch,
        reference=lambda x: {"x": 2 * x},
    )
    assert lab.judge(text, honest, device=any_device, n=1000).ok
    wrong = lab.Kernel(
        text,
        "twice",
        arguments=[lab.output("x", "n"), lab.value("n")],
        launch=launch,
        reference=lambda n: np.arange(float(n)),
    )
    assert lab.judge(text, wrong, device=any_device, level="quick", n=1000).word in ("inexact", "nan", "unwritten")


def test_what_hangs_and_what_crashes_is_a_verdict(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuopt.lab.kernels.remote.FIRST_S", 3.0)
    line = "if (i < n) z[i] = 2 * x[i] + 1;"
    spin = own_kernels.SCALE.replace(line, f"while (*(volatile __global float*)z != 77.5f) {{ }} {line}")
    assert lab.judge(spin, own_kernels.scaled(), device=any_device, n=1000).word == "timeout"
    if any_device.type == "cpu":
        astray = own_kernels.SCALE.replace(line, f"{line} if (i == 0) z[1L << 40] = 1;")
        assert lab.judge(astray, own_kernels.scaled(), device=any_device, n=1000).word == "crash"
    assert lab.judge(own_kernels.SCALE, own_kernels.scaled(), device=any_device, n=1000).ok


def test_a_forged_report_changes_nothing(any_device: gpuopt.Device) -> None:
    line = "if (i < n) z[i] = 2 * x[i] + 1;"
    loud = own_kernels.SCALE.replace(line, f'{line} if (i < 99) printf("{{\\"answer\\": 1e-9}}\\n");')
    found = lab.judge(loud, own_kernels.scaled(), device=any_device, level="full", n=1000)
    assert found.word in ("ok", "compile")
    assert found.median_ms is None or found.median_ms > 1e-4


def test_a_long_sum_is_told_what_to_declare(any_device: gpuopt.Device) -> None:
    """20,000 terms one after the other lose more than NumPy's sums in pairs, which the default stands on."""
    found = lab.judge(SOFTMAX, softmax(), device=any_device, level="full", seed=3, rows=2, columns=20_000)
    if not found.ok:
        assert "give tolerance=lab.rounding(...)" in found.says

    def parts(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return 10 * e / e.sum(axis=1, keepdims=True)

    task = softmax(tolerance=lab.rounding(parts, "columns"))
    assert lab.judge(SOFTMAX, task, device=any_device, level="full", seed=3, rows=2, columns=20_000).ok


def test_an_accumulator_in_local_memory_that_is_not_set(any_device: gpuopt.Device) -> None:
    """Where the last kernel left zeros it would be right."""
    forgets = own_kernels.SUM.replace(
        "__local float held[WG];", "__local float held[WG]; __local float all[1];"
    ).replace(
        "if (get_local_id(0) == 0) parts[get_group_id(0)] = held[0];",
        "if (get_local_id(0) == 0) { all[0] += held[0]; parts[get_group_id(0)] = all[0]; }",
    )
    levels = {"GROUPS": [8], "WG": [64]}
    found = lab.judge(forgets, own_kernels.total(), parameters=levels, device=any_device, level="quick", n=5000)
    assert found.word in ("inexact", "nan", "unstable"), str(found)
