"""The tasks of Kernel Tuner's own OpenCL examples, with its parameters, as declarations of ours and kernels of ours."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, lab

ADD = """
__kernel void vector_add(__global float* c, __global const float* a, __global const float* b, int n) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) c[i] = a[i] + b[i];
}
"""
CONVOLVE = """
#define COLS (block_size_x * tile_size_x)
#define ROWS (block_size_y * tile_size_y)
__kernel void convolution(__global float* out, __global const float* image, __constant float* weights, int h, int w) {
    __local float part[ROWS + 16][COLS + 16];
    const int left = get_group_id(0) * COLS, top = get_group_id(1) * ROWS;
    for (int r = get_local_id(1); r < ROWS + 16; r += block_size_y)
        for (int c = get_local_id(0); c < COLS + 16; c += block_size_x)
            part[r][c] = top + r < h + 16 && left + c < w + 16 ? image[(top + r) * (w + 16) + left + c] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = get_local_id(1); r < ROWS; r += block_size_y)
        for (int c = get_local_id(0); c < COLS; c += block_size_x) {
            float sum = 0;
            for (int k = 0; k < 17 * 17; ++k) sum += weights[k] * part[r + k / 17][c + k % 17];
            if (top + r < h && left + c < w) out[(top + r) * w + left + c] = sum;
        }
}
"""
MULTIPLY = """
#define COLS (block_size_x * tile_size_x)
__kernel void matmul(__global float* C, __global const float* A, __global const float* B, int n) {
    __local float a[block_size_x][block_size_x], b[block_size_x][COLS];
    const int left = get_group_id(0) * COLS, top = get_group_id(1) * block_size_x;
    const int x = get_local_id(0), y = get_local_id(1);
    float sums[tile_size_y][tile_size_x] = {{0}};
    for (int first = 0; first < n; first += block_size_x) {
        for (int r = y; r < block_size_x; r += block_size_y) {
            a[r][x] = top + r < n && first + x < n ? A[(top + r) * n + first + x] : 0;
            for (int c = x; c < COLS; c += block_size_x)
                b[r][c] = first + r < n && left + c < n ? B[(first + r) * n + left + c] : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < block_size_x; ++k)
            for (int i = 0; i < tile_size_y; ++i)
                for (int j = 0; j < tile_size_x; ++j)
                    sums[i][j] += a[y + i * block_size_y][k] * b[k][x + j * block_size_x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < tile_size_y; ++i)
        for (int j = 0; j < tile_size_x; ++j) {
            const int row = top + y + i * block_size_y, col = left + x + j * block_size_x;
            if (row < n && col < n) C[row * n + col] = sums[i][j];
        }
}
"""
REDUCE = """
#if vector == 1
#define LOAD(p, i) p[i]
#elif vector == 2
#define LOAD(p, i) dot(vload2(i, p), (float2)(1))
#else
#define LOAD(p, i) dot(vload4(i, p), (float4)(1))
#endif
float group_sum(float mine, __local float* held) {
    const int i = get_local_id(0);
    held[i] = mine;
    for (int half_size = block_size_x / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < half_size) held[i] += held[i + half_size];
    }
    return held[0];
}
__kernel void partial(__global float* parts, __global const float* x, int n) {
    __local float held[block_size_x];
    float sum = 0;
#if loop_unroll_factor > 1
#pragma unroll loop_unroll_factor
#endif
    for (int i = get_global_id(0); i < n / vector; i += num_blocks * block_size_x) sum += LOAD(x, i);
    sum = group_sum(sum, held);
    if (get_local_id(0) == 0) parts[get_group_id(0)] = sum;
}
__kernel void rest(__global float* total, __global const float* parts) {
    __local float held[block_size_x];
    float sum = 0;
    for (int i = get_local_id(0); i < num_blocks; i += block_size_x) sum += parts[i];
    sum = group_sum(sum, held);
    if (get_local_id(0) == 0) total[0] = sum;
}
"""
AVERAGE = """
__kernel void stencil(__global float* now, __global const float* old, int h, int w) {
    const int x = get_global_id(0), y = get_global_id(1), at = y * w + x;
    if (x >= w || y >= h) return;
    const bool inside = x > 0 && y > 0 && x < w - 1 && y < h - 1;
    now[at] = inside ? (old[at] + old[at - 1] + old[at + 1] + old[at - w] + old[at + w]) / 5 : old[at];
}
"""


def vector_add() -> lab.Kernel:
    return lab.Kernel(
        ADD,
        "vector_add",
        parameters={"block_size_x": [128 + 64 * i for i in range(15)]},
        arguments=[lab.output("c", "n"), lab.input("a", "n"), lab.input("b", "n"), lab.value("n")],
        launch=lab.launch(items="n", local="block_size_x"),
        reference=lambda a, b: a + b,
    )


def convolution() -> lab.Kernel:
    def convolve(image: np.ndarray, weights: np.ndarray, h: int, w: int) -> np.ndarray:
        return sum(weights[i, j] * image[i : i + h, j : j + w] for i in range(17) for j in range(17))

    tiles = {"tile_size_x": [1, 2, 4], "tile_size_y": [1, 2, 4]}
    return lab.Kernel(
        CONVOLVE,
        "convolution",
        parameters={"block_size_x": [16 * i for i in range(1, 9)], "block_size_y": [2**i for i in range(6)], **tiles},
        arguments=[
            lab.output("out", ("h", "w")),
            lab.input("image", ("h + 16", "w + 16")),
            lab.constant("weights", (17, 17)),
            lab.value("h"),
            lab.value("w"),
        ],
        launch=lab.launch(items=("w / tile_size_x", "h / tile_size_y"), local=("block_size_x", "block_size_y")),
        reference=convolve,
    )


def matmul() -> lab.Kernel:
    parameters = {
        "block_size_x": [16, 32, 64],
        "block_size_y": [2**i for i in range(6)],
        "tile_size_x": [1, 2, 4, 8],
        "tile_size_y": [1, 2, 4, 8],
    }
    return lab.Kernel(
        MULTIPLY,
        "matmul",
        parameters=parameters,
        arguments=[lab.output("C", ("n", "n")), lab.input("A", ("n", "n")), lab.input("B", ("n", "n")), lab.value("n")],
        launch=lab.launch(items=("n / tile_size_x", "n / tile_size_y"), local=("block_size_x", "block_size_y")),
        constraints=["block_size_x == block_size_y * tile_size_y"],
        reference=lambda A, B: A @ B,
        tolerance=lab.rounding(lambda A, B: abs(A) @ abs(B), "n"),
        work=lab.work(flops="2 * n * n * n"),
    )


def reduction() -> lab.Kernel:
    parameters = {
        "block_size_x": [2**i for i in range(5, 11)],
        "vector": [1, 2, 4],
        "num_blocks": [2**i for i in range(5, 11)],
        "loop_unroll_factor": [0, 1, 8, 16, 32],
    }
    return lab.Kernel(
        REDUCE,
        "reduction",
        parameters=parameters,
        arguments=[lab.output("total", 1), lab.scratch("parts", "num_blocks"), lab.input("x", "n"), lab.value("n")],
        stages=[
            lab.stage("partial", "parts x n", lab.launch(groups="num_blocks", local="block_size_x")),
            lab.stage("rest", "total parts", lab.launch(groups=1, local="block_size_x")),
        ],
        constraints=["n % vector == 0"],
        reference=lambda x: x.sum(keepdims=True),
        tolerance=lab.rounding(lambda x: abs(x).sum(keepdims=True), "n"),
    )


def stencil() -> lab.Kernel:
    def average(old: np.ndarray) -> np.ndarray:
        now = old.copy()
        now[1:-1, 1:-1] += old[1:-1, :-2] + old[1:-1, 2:] + old[:-2, 1:-1] + old[2:, 1:-1]
        now[1:-1, 1:-1] /= 5
        return now

    return lab.Kernel(
        AVERAGE,
        "stencil",
        parameters={"block_size_x": [32 * i for i in range(1, 9)], "block_size_y": [2**i for i in range(6)]},
        arguments=[lab.output("now", ("h", "w")), lab.input("old", ("h", "w")), lab.value("h"), lab.value("w")],
        launch=lab.launch(items=("w", "h"), local=("block_size_x", "block_size_y")),
        reference=average,
    )


# Each with the lines of Kernel Tuner's script that are not blank (without the kernel, which is in files of its own but
# for the first), sizes, and levels that differ from the first ones.
EXAMPLES: list[tuple[Callable[[], lab.Kernel], int, dict[str, int], dict[str, int]]] = [
    (vector_add, 13, {"n": 10_001}, {"block_size_x": 192}),
    (convolution, 23, {"h": 37, "w": 70}, {"block_size_x": 32, "block_size_y": 4, "tile_size_x": 2, "tile_size_y": 2}),
    (matmul, 35, {"n": 100}, {"block_size_x": 32, "block_size_y": 8, "tile_size_x": 2, "tile_size_y": 4}),
    (reduction, 58, {"n": 20_004}, {"block_size_x": 64, "vector": 4, "num_blocks": 64, "loop_unroll_factor": 8}),
    (stencil, 22, {"h": 45, "w": 100}, {"block_size_x": 64, "block_size_y": 2}),
]


@pytest.mark.parametrize(("make", "lines", "sizes", "levels"), EXAMPLES)
def test_examples_of_kernel_tuner(
    device: gpuopt.Device,
    make: Callable[[], lab.Kernel],
    lines: int,
    sizes: dict[str, int],
    levels: dict[str, int],
) -> None:
    kernel = make()
    assert len([line for line in inspect.getsourcelines(make)[0] if line.strip()]) <= lines
    kernel.check(device=device, **sizes)
    kernel.check(device=device, configuration=Configuration(kernel.name, **levels), **sizes)  # type: ignore[arg-type]


def test_a_missing_barrier_is_no_result(any_device: gpuopt.Device) -> None:
    """What Kernel Tuner runs without ``answer`` it does not look at; here a sum of the wrong elements is an error."""
    kernel = matmul()
    wrong = lab.Kernel(
        MULTIPLY.replace("b[k][x + j * block_size_x]", "b[k][x]"),
        "matmul_wrong",
        parameters=dict(kernel.code.space.levels),
        arguments=kernel.task.arguments,
        stages=[lab.stage("matmul", "C A B n", kernel.code.kernels[0].launch)],
        constraints=["block_size_x == block_size_y * tile_size_y"],
        reference=kernel.task.reference,
    )
    levels = {"block_size_x": 16, "block_size_y": 16, "tile_size_y": 1}
    wrong.check(device=any_device, n=64, configuration=Configuration("matmul_wrong", tile_size_x=1, **levels))
    with pytest.raises(gpuopt.MismatchError):
        wrong.check(device=any_device, n=64, configuration=Configuration("matmul_wrong", tile_size_x=2, **levels))
