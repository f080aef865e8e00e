"""Kernels as people bring them, for tests: the bases that mutants and honest kernels are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuopt import lab

SAXPY = """
__kernel void saxpy(int n, float a, __global const float* x, __global float* y) {
    const int i = get_global_id(0) * WIDTH;
    for (int k = 0; k < WIDTH; ++k)
        if (i + k < n) y[i + k] = a * x[i + k] + y[i + k];
}
"""
SUM = """
__kernel void partial(__global const float* x, __global float* parts, int n) {
    __local float held[WG];
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i];
    held[get_local_id(0)] = sum;
    for (int half_size = WG / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((int)get_local_id(0) < half_size) held[get_local_id(0)] += held[get_local_id(0) + half_size];
    }
    if (get_local_id(0) == 0) parts[get_group_id(0)] = held[0];
}
__kernel void final(__global const float* parts, __global float* sum) {
    if (get_global_id(0) == 0) {
        float all = 0;
        for (int i = 0; i < GROUPS; ++i) all += parts[i];
        sum[0] = all;
    }
}
"""
SCALE = (
    "__kernel void scaled(__global const float* x, __global float* z, int n) {\n"
    "    const int i = get_global_id(0);\n    if (i < n) z[i] = 2 * x[i] + 1;\n}\n"
)
BLUR = """
const sampler_t clamped = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void blur(__global float* out, __read_only image2d_t img, __constant float* f,
                   __local float* tile, int h, int w) {
    const int x = get_global_id(0), y = get_global_id(1);
    tile[get_local_id(1) * BX + get_local_id(0)] = f[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int d = -1; d <= 1; ++d) sum += f[d + 1] * read_imagef(img, clamped, (int2)(x + d, y)).x;
    out[y * w + x] = sum + 0 * tile[0];
}
"""

SEARCH = """
__kernel void start(__global int* level, int n) {
    const int i = get_global_id(0);
    if (i < n) level[i] = i == 0 ? 0 : -1;
}

__kernel void advance(__global const int* first, __global const int* next, __global int* level, __global int* more,
                   int n, int at) {
    const int i = get_global_id(0);
    if (i >= n || level[i] != at) return;
    for (int k = first[i]; k < first[i + 1]; ++k)
        if (level[next[k]] < 0) {
            level[next[k]] = at + 1;  // several may write it, all the same
            more[0] = 1;
        }
}
"""


@dataclass(frozen=True)
class Honest:
    """A kernel that is right, and the sizes that it is judged at. ``needs`` is a property of devices."""

    text: str
    kernel: lab.Kernel
    sizes: dict[str, int]
    repeatable: bool = True
    needs: str = ""


def saxpy(text: str = SAXPY, kernel: str = "saxpy", **more: Any) -> lab.Kernel:
    """y = a x + y in place."""
    given: dict[str, Any] = {
        "parameters": {"WIDTH": [1, 2, 4], "WG": [64, 128]},
        "arguments": [lab.value("n"), lab.value("a", "float32", 1.5), lab.input("x", "n"), lab.inout("y", "n")],
        "launch": lab.launch(items="n / WIDTH", local="WG"),
        "reference": lambda a, x, y: {"y": a * x + y},
        "work": lab.work(flops="2*n", read="8*n", write="4*n"),
    }
    return lab.Kernel(text, kernel, **(given | more))


def scaled(text: str = SCALE, **more: Any) -> lab.Kernel:
    """z = 2 x + 1."""
    given: dict[str, Any] = {
        "arguments": [lab.input("x", "n"), lab.output("z", "n"), lab.value("n")],
        "launch": lab.launch(items="n", local=64),
        "reference": lambda x: 2 * x + 1,
    }
    return lab.Kernel(text, "scaled", **(given | more))


def total(text: str = SUM, **more: Any) -> lab.Kernel:
    """A sum in two stages."""
    given: dict[str, Any] = {
        "parameters": {"WG": [64, 128], "GROUPS": [8, 16]},
        "arguments": [
            lab.input("x", "n"),
            lab.scratch("parts", "GROUPS"),
            lab.output("sum", 1),
            lab.value("n"),
        ],
        "stages": [
            lab.stage("partial", "x parts n", lab.launch(groups="GROUPS", local="WG")),
            lab.stage("final", "parts sum", lab.launch(groups=1, local="WG")),
        ],
        "reference": lambda x: np.array([x.sum()]),
        "tolerance": lab.rounding(lambda x: np.array([np.abs(x).sum()]), "n"),
    }
    return lab.Kernel(text, "total", **(given | more))


def blur(**more: Any) -> lab.Kernel:
    """Three columns of a picture weighed, through a sampler, with constant and local memory."""

    def reference(img: np.ndarray, f: np.ndarray) -> np.ndarray:
        wide = np.pad(img, ((0, 0), (1, 1)), mode="edge")
        return sum(f[d] * wide[:, d : d + img.shape[1]] for d in range(3))

    given: dict[str, Any] = {
        "parameters": {"BX": [8, 16], "BY": [4]},
        "arguments": [
            lab.output("out", ("h", "w")),
            lab.image("img", ("h", "w")),
            lab.constant("f", 3),
            lab.local("tile", "4 * BX * BY"),
            lab.value("h"),
            lab.value("w"),
        ],
        "launch": lab.launch(items=("w", "h"), local=("BX", "BY")),
        "reference": reference,
    }
    return lab.Kernel(BLUR, "blur", **(given | more))


def levels_of(first: np.ndarray, next: np.ndarray, n: int) -> np.ndarray:
    """Breadth-first search from vertex 0; -1 where nothing leads."""
    level = np.full(n, -1, dtype=np.int32)
    level[0], frontier, at = 0, [0], 0
    while frontier:
        found = []
        for i in frontier:
            for k in next[first[i] : first[i + 1]]:
                if level[k] < 0:
                    level[k] = at + 1
                    found.append(k)
        frontier, at = found, at + 1
    return level


def search(times: str = "n", data: Mapping[str, Any] | None = None) -> lab.Kernel:
    """Levels of a graph's vertices: rounds that a flag ends."""
    given = data or {}
    return lab.Kernel(
        SEARCH,
        "search",
        arguments=[
            lab.input("first", "n + 1", "int32", data=given.get("first")),
            lab.input("next", "edges", "int32", data=given.get("next"), low=0, high="n"),
            lab.output("level", "n", "int32"),
            lab.scratch("more", 1, "int32"),
            lab.value("n"),
            lab.value("at", "int32", each="i"),
        ],
        stages=[
            lab.stage("start", "level n", lab.launch(items="n")),
            lab.repeat(
                lab.stage("advance", "first next level more n at", lab.launch(items="n")), times, until=lab.zero("more")
            ),
        ],
        reference=lambda first, next, n: {"level": levels_of(first.astype(int), next.astype(int), n)},
    )
