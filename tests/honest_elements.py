"""Honest kernels, an element a work-item: of all types, of structs and vectors, with many arguments or results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.lab.kernels.arguments import Array, Value
from own_kernels import Honest

STRIDE = """
__kernel void saxpy(int n, float a, __global const float* x, __global const float* y, __global float* z) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) z[i] = a * x[i] + y[i];
}
"""


def grid_stride(a: Value | None = None, flags: Sequence[Array] = ()) -> Honest:
    """Fewer work-items than elements, whose number is odd. Mutants want another ``a``, or memory for a flag."""
    kernel = lab.Kernel(
        STRIDE,
        "saxpy",
        parameters={"WG": [64, 128]},
        arguments=[lab.value("n"), a or lab.value("a", "float32", 1.5), lab.input("x", "n"), lab.input("y", "n"),
                   lab.output("z", "n"), *flags],
        launch=lab.launch(groups=4, local="WG"),
        reference=lambda a, x, y: a * x + y,
    )  # fmt: skip
    return Honest(STRIDE, kernel, {"n": 10_007})


IN_PLACE = """
__kernel void scale(__global float* x, float factor, int n) {
    const int i = get_global_id(0);
    if (i < n) x[i] *= factor;
}
"""


def in_place() -> Honest:
    kernel = lab.Kernel(
        IN_PLACE,
        "scale",
        arguments=[lab.inout("x", "n"), lab.value("factor", "float32", 2.5), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x, factor: {"x": factor * x},
    )
    return Honest(IN_PLACE, kernel, {"n": 5000})


def mapped(expression: str, reference: Any, kind: str = "float", dtype: str = "float32", **more: Any) -> Honest:
    """z = an expression of x[i], and of what it has before it."""
    text = f"""
{more.pop("before", "")}
__kernel void mapped(__global const {kind}* x, __global {kind}* z, int n) {{
    const int i = get_global_id(0);
    if (i < n) z[i] = {expression};
}}
"""
    drawn = {name: more.pop(name) for name in ("data", "low", "high") if name in more}
    kernel = lab.Kernel(
        text,
        "mapped",
        arguments=[lab.input("x", "n", dtype, **drawn), lab.output("z", "n", dtype), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
        tolerance=more.pop("tolerance", None),
    )
    return Honest(text, kernel, {"n": 3000}, **more)


def not_finite(tolerance: float | None = None) -> Honest:
    """Its results hold NaN and both infinities, where they belong."""

    def data(random: np.random.Generator) -> np.ndarray:
        x = random.uniform(-1, 1, 3000).astype(np.float32)
        x[random.integers(0, 3000, 50)] = 0
        x[random.integers(0, 3000, 50)] = np.inf
        x[random.integers(0, 3000, 50)] = np.nan
        return x

    def reference(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.log(x)

    return mapped("log(x[i])", reference, data=data, tolerance=tolerance)


def doubles() -> Honest:
    """A polynomial in fp64."""
    return mapped(
        "((x[i] * 0.1 + 0.2) * x[i] - 0.3) * x[i] + 0.4",
        lambda x: ((x * 0.1 + 0.2) * x - 0.3) * x + 0.4,
        "double",
        "float64",
        before="#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
        needs="fp64",
    )


def long_integers() -> Honest:
    """Numbers of 64 bits that no double holds."""
    return mapped("x[i] * 1000003L - (x[i] >> 7)", lambda x: x * 1_000_003 - (x >> 7), "long", "int64",
                  low=-(2**40), high=2**40)  # fmt: skip


HALVES = """
__kernel void axpy(__global const half* x, __global half* y, float a, int n) {
    const int i = get_global_id(0);
    if (i < n) vstore_half(a * vload_half(i, x) + vload_half(i, y), i, y);
}
"""


def halves() -> Honest:
    """Storage in half precision, arithmetic in single: any device has it."""
    kernel = lab.Kernel(
        HALVES,
        "axpy",
        arguments=[lab.input("x", "n", "float16"), lab.inout("y", "n", "float16"), lab.value("a", "float32", 1.5),
                   lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x, y, a: {"y": a * x + y},
    )  # fmt: skip
    return Honest(HALVES, kernel, {"n": 3000})


BLEND = """
__kernel void blend(__global const uchar* a, __global const uchar* b, __global const uchar* alpha, __global uchar* z,
                    int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = ((uint)a[i] * alpha[i] + (uint)b[i] * (255 - alpha[i]) + 127) / 255;
}
"""


def bytes_blended() -> Honest:
    """Bytes without a sign: a poison equals a right one every 256 times."""

    def reference(a: np.ndarray, b: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        wide = [one.astype(np.int64) for one in (a, b, alpha)]
        return (wide[0] * wide[2] + wide[1] * (255 - wide[2]) + 127) // 255

    inputs = [lab.input(name, "n", "uint8", high=256) for name in ("a", "b", "alpha")]
    kernel = lab.Kernel(
        BLEND,
        "blend",
        arguments=[*inputs, lab.output("z", "n", "uint8"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )
    return Honest(BLEND, kernel, {"n": 50_000})


QUADS = """
__kernel void distances(__global const float4* a, __global const float4* b, __global float4* z) {
    const int i = get_global_id(0);
    const float4 d = a[i] - b[i];
    z[i] = sqrt(d * d + 1.0f);
}
"""


def vectors() -> Honest:
    """float4, no work-item more than there are: only for multiples of four times the group."""
    kernel = lab.Kernel(
        QUADS,
        "distances",
        parameters={"WG": [16, 32]},
        arguments=[lab.input("a", "n"), lab.input("b", "n"), lab.output("z", "n")],
        launch=lab.launch(items="n / 4", local="WG"),
        constraints=["n % (4 * WG) == 0"],
        reference=lambda a, b: np.sqrt((a - b) ** 2 + 1),
    )
    return Honest(QUADS, kernel, {"n": 4096})


GAUSSIAN = """
__kernel void product(__global const int2* a, __global const int2* b, __global int2* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = (int2)(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}
"""


def pairs() -> Honest:
    """Products of complex whole numbers, as int2."""

    def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        real = a[:, 0] * b[:, 0] - a[:, 1] * b[:, 1]
        return np.stack([real, a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0]], axis=1)

    inputs = [lab.input(name, ("n", 2), "int32", low=-1000, high=1000) for name in ("a", "b")]
    kernel = lab.Kernel(
        GAUSSIAN,
        "product",
        arguments=[*inputs, lab.output("z", ("n", 2), "int32"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )
    return Honest(GAUSSIAN, kernel, {"n": 2000})


STRUCTS = """
typedef struct { float x, y; int kind; } Particle;
typedef struct { float strength, shift; int kinds; } Field;
__kernel void potential(__global const Particle* particles, Field field, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    const Particle p = particles[i];
    z[i] = p.kind < field.kinds ? field.strength / (1 + p.x * p.x + p.y * p.y) + field.shift * p.kind : p.x;
}
"""
PARTICLE = np.dtype([("x", "float32"), ("y", "float32"), ("kind", "int32")])
FIELD = np.dtype([("strength", "float32"), ("shift", "float32"), ("kinds", "int32")])


def structs() -> Honest:
    """A buffer of structs, and a struct by value."""

    def data(random: np.random.Generator) -> np.ndarray:
        made = np.zeros(2000, PARTICLE)
        made["x"], made["y"] = random.uniform(-2, 2, (2, 2000)).astype(np.float32)
        made["kind"] = random.integers(0, 5, 2000)
        return made

    def reference(particles: np.ndarray, field: Any) -> np.ndarray:
        x, y, kind = (particles[name].astype(float) for name in ("x", "y", "kind"))
        strength, shift = float(field["strength"]), float(field["shift"])
        return np.where(kind < field["kinds"], strength / (1 + x * x + y * y) + shift * kind, x)

    kernel = lab.Kernel(
        STRUCTS,
        "potential",
        arguments=[lab.input("particles", "n", PARTICLE, data=data), lab.value("field", FIELD, (3.0, 0.25, 3)),
                   lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )  # fmt: skip
    return Honest(STRUCTS, kernel, {"n": 2000})


MANY = """
__kernel void mixed(__global const float* x0, float c0, __global const float* x1, float c1, __global const float* x2,
                    float c2, __global const float* x3, float c3, __global const float* x4, float c4,
                    __global const float* x5, float c5, __global const float* x6, float c6, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = c0 * x0[i] + c1 * x1[i] + c2 * x2[i] + c3 * x3[i] + c4 * x4[i] + c5 * x5[i] + c6 * x6[i];
}
"""


def many_arguments() -> Honest:
    """Sixteen of them."""
    given: list[Any] = []
    for number in range(7):
        given += [lab.input(f"x{number}", "n"), lab.value(f"c{number}", "float32", 1.0 + number / 4)]
    kernel = lab.Kernel(
        MANY,
        "mixed",
        arguments=[*given, lab.output("z", "n"), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda **known: sum(known[f"c{k}"] * known[f"x{k}"] for k in range(7)),
    )
    return Honest(MANY, kernel, {"n": 3000})


POLAR = """
__kernel void polar(__global const float* x, __global const float* y, __global float* radius, __global float* angle,
                    int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    radius[i] = hypot(x[i], y[i]);
    angle[i] = atan2(y[i], x[i]);
}
"""


def several_results() -> Honest:
    kernel = lab.Kernel(
        POLAR,
        "polar",
        arguments=[lab.input("x", "n"), lab.input("y", "n"), lab.output("radius", "n"), lab.output("angle", "n"),
                   lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x, y: {"radius": np.hypot(x, y), "angle": np.arctan2(y, x)},
    )  # fmt: skip
    return Honest(POLAR, kernel, {"n": 3000})


NUMBERS = """
__kernel void numbers(__global uint* z, uint first, int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    uint state = (uint)i * 747796405u + first;
    state = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    z[i] = (state >> 22) ^ state;
}
"""


def random_numbers() -> Honest:
    """A hash of the element's number, without any input."""

    def reference(n: int, first: int) -> np.ndarray:
        mask = np.uint64(0xFFFFFFFF)
        state = (np.arange(n, dtype=np.uint64) * np.uint64(747796405) + np.uint64(first)) & mask
        shift = (state >> np.uint64(28)) + np.uint64(4)
        state = (((state >> shift) ^ state) * np.uint64(277803737)) & mask
        return (state >> np.uint64(22)) ^ state

    kernel = lab.Kernel(
        NUMBERS,
        "numbers",
        arguments=[lab.output("z", "n", "uint32"), lab.value("first", "uint32", 2891336453), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )
    return Honest(NUMBERS, kernel, {"n": 5000})


ESCAPE = """
__kernel void escape(__global const float* re, __global const float* im, __global int* count, int most, int n) {
#pragma OPENCL FP_CONTRACT OFF
    const int i = get_global_id(0);
    if (i >= n) return;
    float x = 0, y = 0;
    int k = 0;
    while (k < most && x * x + y * y < 4.0f) {
        const float next = x * x - y * y + re[i];
        y = 2.0f * x * y + im[i];
        x = next;
        ++k;
    }
    count[i] = k;
}
"""


def divergent() -> Honest:
    """Mandelbrot's counts: neighbours loop from once to a hundred times; roundings are IEEE's, so that counts agree."""

    def reference(re: np.ndarray, im: np.ndarray, most: int) -> np.ndarray:
        re, im = re.astype(np.float32), im.astype(np.float32)
        x, y, count = np.zeros_like(re), np.zeros_like(re), np.zeros(re.shape, np.int32)
        going = np.ones(re.shape, bool)
        for _ in range(most):
            going &= x * x + y * y < 4
            count += going
            following = x * x - y * y + re
            y = np.where(going, np.float32(2) * x * y + im, y)
            x = np.where(going, following, x)
        return count

    kernel = lab.Kernel(
        ESCAPE,
        "escape",
        arguments=[lab.input("re", "n", low=-2.0, high=0.5), lab.input("im", "n", low=-1.2, high=1.2),
                   lab.output("count", "n", "int32"), lab.value("most", "int32", 100), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )  # fmt: skip
    return Honest(ESCAPE, kernel, {"n": 4000})


KERNELS = {
    "saxpy with a grid's stride": grid_stride,
    "scaling in place": in_place,
    "results that are not finite": not_finite,
    "fp64": doubles,
    "whole numbers of 64 bits": long_integers,
    "half precision as storage": halves,
    "bytes": bytes_blended,
    "float4, and sizes that must divide": vectors,
    "int2": pairs,
    "structs in a buffer and by value": structs,
    "sixteen arguments": many_arguments,
    "several results": several_results,
    "random numbers": random_numbers,
    "loops that diverge": divergent,
}
