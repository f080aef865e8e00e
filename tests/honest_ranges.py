"""Honest kernels at the ends of what their types and launches take: data and sizes beyond them are nobody's fault."""

from __future__ import annotations

import numpy as np

from gpuopt import lab
from honest_elements import mapped
from own_kernels import Honest


def steep() -> Honest:
    """Results up to a thousandth of the largest float32: none of data that are eight times as large."""
    return mapped("exp(80.0f * x[i])", lambda x: np.exp(80 * x))


SIXTH = """
__kernel void sixth(__global const float* x, __global half* z, int n) {
    const int i = get_global_id(0);
    if (i < n) vstore_half(x[i] * x[i] * x[i] * x[i] * x[i] * x[i], i, z);
}
"""


def sixth_powers() -> Honest:
    """From float32 to half precision, whose range ends soon at either end."""
    kernel = lab.Kernel(
        SIXTH,
        "sixth",
        arguments=[lab.input("x", "n"), lab.output("z", "n", "float16"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x: x**6,
    )
    return Honest(SIXTH, kernel, {"n": 3000})


CUT = """
__kernel void cut(__global const float* x, __global int* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = (int)(x[i] * 400000000.0f);
}
"""


def cut_to_whole() -> Honest:
    """Whole numbers of floats, which fit for data below five alone."""

    def reference(x: np.ndarray) -> np.ndarray:
        return np.trunc((x.astype(np.float32) * np.float32(4e8)).astype(np.float64))

    kernel = lab.Kernel(
        CUT,
        "cut",
        arguments=[lab.input("x", "n"), lab.output("z", "n", "int32"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )
    return Honest(CUT, kernel, {"n": 3000})


FIXED = """
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void twice(__global const float* x, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = 2 * x[i];
}
"""


def fixed_group() -> Honest:
    """A group of 64, which its launch makes smaller for fewer elements: those it does not take."""
    kernel = lab.Kernel(
        FIXED,
        "twice",
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n", local="min(n, 64)"),
        reference=lambda x: 2 * x,
    )
    return Honest(FIXED, kernel, {"n": 3000})


KERNELS = {
    "near the largest number": steep,
    "float32 to half precision": sixth_powers,
    "floats cut to whole numbers": cut_to_whole,
    "a group of a fixed size": fixed_group,
}
