"""Copies past the registers (``COPY=1`` and ``2`` of ``register_tile``) are PTX, which no CPU has: here plain loops
stand in their place, so that tiles, edges and what lies beyond them are checked without a GPU too."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyopencl", reason="pyopencl is of the test group")

import pyopencl as cl

import gpuopt

PLAIN = """
inline void copy_piece(local REAL *to, const global REAL *from, const int wide, const int bytes) {
    for (int i = 0; i < wide; ++i) to[i] = 4 * i < bytes ? from[i] : 0;
}
inline void copy_whole_piece(local REAL *to, const global REAL *from, const int wide) {
    for (int i = 0; i < wide; ++i) to[i] = from[i];
}
"""
SHAPES = [(1, 1, 1), (3, 5, 70), (65, 67, 130), (128, 35, 176)]
TILES = {
    "two stages": {"TILE_M": 64, "TILE_N": 64, "TILE_K": 16, "WORK_M": 4, "WORK_N": 4, "STAGES": 2},
    "three stages": {"TILE_M": 32, "TILE_N": 128, "TILE_K": 8, "WORK_M": 4, "WORK_N": 16, "STAGES": 3},
}


def with_plain_copies(kernels: Path) -> str:
    """The kernel with loops for what PTX does; its last group of copies has ended at once."""
    copies = (kernels / "gemm" / "include" / "copy.cl").read_text(encoding="utf-8")
    begin, end = copies.index("inline void copy_piece"), copies.index("// NVIDIA's compiler moves reads")
    copies = copies[:begin] + PLAIN + copies[end:]
    copies = re.sub(r"(#define COPIES_\w+) asm .*", r"\1", copies)
    copies = re.sub(r'asm volatile\("" .*?\);', "", copies)
    assert "asm" not in re.sub("//.*", "", copies)
    text = (kernels / "gemm" / "register_tile.cl").read_text(encoding="utf-8")
    line = '#include "gemm/include/copy.cl"'
    assert line in text
    return text.replace(line, copies)


def k_major(random: np.random.Generator, across: int, k: int) -> np.ndarray:
    """An operand as the pass turns it: rows for each k, whole pieces of four in each; NaN where it has no element."""
    made = np.full((k, -(-across // 4) * 4), np.nan, np.float32)
    made[:, :across] = random.uniform(-1, 1, (k, across))
    return made


@pytest.mark.parametrize("tiles", TILES.values(), ids=list(TILES))
@pytest.mark.parametrize("copy", [1, 2])
@pytest.mark.filterwarnings("ignore:Non-empty compiler output")
def test_tiles_that_are_copied_past_the_registers(
    root: Path, device: gpuopt.Device, tiles: dict[str, int], copy: int
) -> None:
    queue = gpuopt.pyopencl_queue(device)
    macros = tiles | {"COPY": copy, "PASS": 1, "ORDER": 1, "BAND": 8, "TRANSPOSE_A": 1, "ALIGNED_A": 1, "ALIGNED_B": 1}
    options = [f"-D{name}={value}" for name, value in macros.items()] + ["-I", str(root / "kernels")]
    program = cl.Program(queue.context, with_plain_copies(root / "kernels")).build(options)
    kernel, random = program.gemm_register_tile, np.random.default_rng(25)
    behind, flags = np.full(512, np.nan, np.float32), cl.mem_flags
    for m, n, k in SHAPES:
        A, B, D = k_major(random, m, k), k_major(random, n, k), np.full((m, n), 7, np.float32)
        a, b = (
            cl.Buffer(
                queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.concatenate([one.ravel(), behind])
            )
            for one in (A, B)
        )
        d = cl.Buffer(queue.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=D)
        items = tiles["TILE_M"] // tiles["WORK_M"] * (tiles["TILE_N"] // tiles["WORK_N"])
        groups = -(-m // tiles["TILE_M"]) * -(-n // tiles["TILE_N"])
        strides = [np.int64(one) for one in (A.shape[1], B.shape[1], n, n, 0, 0, 0, 0)]
        counts, factors = (np.int32(m), np.int32(n), np.int32(k)), (np.float32(1), np.float32(0))
        begins = [np.int64(0)] * 4
        kernel(
            queue, (groups * items, 1, 1), (items, 1, 1), a, b, d, d, *counts, *strides, *factors, *begins, counts[2]
        )
        cl.enqueue_copy(queue, D, d)
        exact = A[:, :m].astype(np.float64).T @ B[:, :n]
        np.testing.assert_allclose(D, exact, atol=1e-4, err_msg=f"{m} x {n} x {k}")
