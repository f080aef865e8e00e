"""Honest kernels that read or write elsewhere than at their own element: by index, of a neighbourhood, of an image."""

from __future__ import annotations

import numpy as np

from gpuopt import lab
from own_kernels import Honest

GATHER = """
__kernel void gather(__global const float* x, __global const int* at, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = x[at[i]];
}
"""


def gather() -> Honest:
    """Indices are drawn from a range: any other number would lie outside."""
    kernel = lab.Kernel(
        GATHER,
        "gather",
        arguments=[lab.input("x", "m"), lab.input("at", "n", "int32", low=0, high="m"), lab.output("z", "n"),
                   lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x, at: x[at],
    )  # fmt: skip
    return Honest(GATHER, kernel, {"n": 3000, "m": 700})


SCATTER = """
__kernel void scatter(__global const float* x, __global const uint* to, __global float* z, uint n) {
    const uint i = get_global_id(0);
    if (i < n) z[to[i]] = x[i];
}
"""


def scatter() -> Honest:
    """By a permutation, so that each element is written once."""

    def reference(x: np.ndarray, to: np.ndarray) -> np.ndarray:
        z = np.zeros_like(x)
        z[to] = x
        return z

    drawn = lab.input("to", "n", "uint32", data=lambda random: random.permutation(2500).astype(np.uint32))
    kernel = lab.Kernel(
        SCATTER,
        "scatter",
        arguments=[lab.input("x", "n"), drawn, lab.output("z", "n"), lab.value("n", "uint32")],
        launch=lab.launch(items="n"),
        reference=reference,
    )
    return Honest(SCATTER, kernel, {"n": 2500})


FILTER = """
__kernel void filtered(__global const float* x, __constant float* f, __global float* z, int taps, int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < taps; ++k) sum += f[k] * x[i + k];
    z[i] = sum;
}
"""


def constant_filter() -> Honest:
    kernel = lab.Kernel(
        FILTER,
        "filtered",
        arguments=[lab.input("x", "n + taps - 1"), lab.constant("f", "taps"), lab.output("z", "n"), lab.value("taps"),
                   lab.value("n")],
        launch=lab.launch(items="n"),
        reference=lambda x, f: np.convolve(x, f[::-1], mode="valid"),
    )  # fmt: skip
    return Honest(FILTER, kernel, {"n": 3000, "taps": 17})


SMOOTHED = """
__kernel void smoothed(__global const float* x, __global float* z, __local float* tile, int n) {
    const int i = get_global_id(0), l = get_local_id(0), last = get_local_size(0) - 1;
    tile[l + 1] = x[min(i, n - 1)];
    if (l == 0) tile[0] = x[clamp(i - 1, 0, n - 1)];
    if (l == last) tile[last + 2] = x[min(i + 1, n - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) z[i] = 0.25f * tile[l] + 0.5f * tile[l + 1] + 0.25f * tile[l + 2];
}
"""


def local_argument() -> Honest:
    """Local memory of a size that the host gives."""

    def reference(x: np.ndarray) -> np.ndarray:
        wide = np.pad(x, 1, mode="edge")
        return wide[:-2] / 4 + wide[1:-1] / 2 + wide[2:] / 4

    kernel = lab.Kernel(
        SMOOTHED,
        "smoothed",
        parameters={"WG": [64, 128]},
        arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.local("tile", "4 * (WG + 2)"), lab.value("n")],
        launch=lab.launch(items="n", local="WG"),
        reference=reference,
    )
    return Honest(SMOOTHED, kernel, {"n": 3001})


CONVOLVED = """
const sampler_t clamped = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void convolved(__read_only image2d_t picture, __constant float* f, __global float* z, int h, int w) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i)
            sum += f[j * 5 + i] * read_imagef(picture, clamped, (int2)(x + i - 2, y + j - 2)).x;
    z[y * w + x] = sum;
}
"""


def image() -> Honest:
    def reference(picture: np.ndarray, f: np.ndarray) -> np.ndarray:
        wide, (h, w) = np.pad(picture, 2, mode="edge"), picture.shape
        return sum(f[j, i] * wide[j : j + h, i : i + w] for j in range(5) for i in range(5))

    kernel = lab.Kernel(
        CONVOLVED,
        "convolved",
        arguments=[lab.image("picture", ("h", "w")), lab.constant("f", (5, 5)), lab.output("z", ("h", "w")),
                   lab.value("h"), lab.value("w")],
        launch=lab.launch(items=("w", "h"), local=(16, 4)),
        reference=reference,
    )  # fmt: skip
    return Honest(CONVOLVED, kernel, {"h": 45, "w": 67}, needs="image_support")


TILED = """
__kernel void weighed(__global const float* x, __constant float* f, __global float* z, __local float* tile,
                      int h, int w) {
    const int x0 = get_group_id(0) * BX - 1, y0 = get_group_id(1) * BY - 1, wide = BX + 2;
    for (int k = get_local_id(1) * BX + get_local_id(0); k < wide * (BY + 2); k += BX * BY) {
        const int column = x0 + k % wide, row = y0 + k / wide;
        tile[k] = column >= 0 && column < w && row >= 0 && row < h ? x[row * w + column] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i = get_global_id(0), j = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < 9; ++k) sum += f[k] * tile[(get_local_id(1) + k / 3) * wide + get_local_id(0) + k % 3];
    if (i < w && j < h) z[j * w + i] = sum;
}
"""


def tiles(tile: int | str = "4 * (BX + 2) * (BY + 2)") -> Honest:
    """A convolution whose inputs are shared in local memory of ``tile`` bytes."""

    def reference(x: np.ndarray, f: np.ndarray) -> np.ndarray:
        wide, (h, w) = np.pad(x, 1), x.shape
        return sum(f[j, i] * wide[j : j + h, i : i + w] for j in range(3) for i in range(3))

    kernel = lab.Kernel(
        TILED,
        "weighed",
        parameters={"BX": [16, 8], "BY": [4]},
        arguments=[lab.input("x", ("h", "w")), lab.constant("f", (3, 3)), lab.output("z", ("h", "w")),
                   lab.local("tile", tile), lab.value("h"), lab.value("w")],
        launch=lab.launch(items=("w", "h"), local=("BX", "BY")),
        reference=reference,
    )  # fmt: skip
    return Honest(TILED, kernel, {"h": 45, "w": 67})


TURNED = """
__kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void turned(__global const float* x, __global float* z, int h, int w) {
    __local float tile[16][17];
    const int column = get_group_id(0) * 16, row = get_group_id(1) * 16, i = get_local_id(0), j = get_local_id(1);
    if (row + j < h && column + i < w) tile[j][i] = x[(row + j) * w + column + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (column + j < w && row + i < h) z[(column + j) * h + row + i] = tile[i][j];
}
"""


def transpose() -> Honest:
    """Through a tile of local memory, parts of which are never set at the edges."""
    kernel = lab.Kernel(
        TURNED,
        "turned",
        arguments=[lab.input("x", ("h", "w")), lab.output("z", ("w", "h")), lab.value("h"), lab.value("w")],
        launch=lab.launch(items=("w", "h"), local=(16, 16)),
        reference=lambda x: x.T,
    )
    return Honest(TURNED, kernel, {"h": 70, "w": 45})


HEAT = """
__kernel void heat(__global const float* x, __global float* z, int d, int h, int w) {
    const int i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    if (i >= w || j >= h || k >= d) return;
    const int at = (k * h + j) * w + i;
    const float own = x[at];
    const float left = i > 0 ? x[at - 1] : own, right = i < w - 1 ? x[at + 1] : own;
    const float front = j > 0 ? x[at - w] : own, back = j < h - 1 ? x[at + w] : own;
    const float below = k > 0 ? x[at - w * h] : own, above = k < d - 1 ? x[at + w * h] : own;
    z[at] = own + 0.1f * (left + right + front + back + below + above - 6 * own);
}
"""


def three_dimensions() -> Honest:
    def reference(x: np.ndarray) -> np.ndarray:
        wide, inner = np.pad(x, 1, mode="edge"), slice(1, -1)
        around = sum(
            wide[tuple(slice(1 + step, wide.shape[a] - 1 + step) if a == axis else inner for a in range(3))]
            for axis in range(3)
            for step in (-1, 1)
        )
        return x + 0.1 * (around - 6 * x)

    shape = ("d", "h", "w")
    kernel = lab.Kernel(
        HEAT,
        "heat",
        arguments=[lab.input("x", shape), lab.output("z", shape), lab.value("d"), lab.value("h"), lab.value("w")],
        launch=lab.launch(items=("w", "h", "d"), local=(8, 4, 2)),
        reference=reference,
    )
    return Honest(HEAT, kernel, {"d": 9, "h": 14, "w": 23})


KERNELS = {
    "gather": gather,
    "scatter by a permutation": scatter,
    "filter in constant memory": constant_filter,
    "local memory as an argument": local_argument,
    "convolution of an image": image,
    "convolution in tiles": tiles,
    "transpose through local memory": transpose,
    "stencil in three dimensions": three_dimensions,
}
