"""D2: a dense matrix times a vector, from global memory, from an image, or with constant memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same, slow


def data(rows: int, fours: int) -> dict[str, np.ndarray]:
    """A matrix and a vector in parts of four, each twice: for global memory, and for an image or constant memory."""
    random = np.random.default_rng(0)
    matrix = random.uniform(-1, 1, (rows, fours, 4)).astype(np.float32)
    vector = random.uniform(-1, 1, (fours, 4)).astype(np.float32)
    return {"A": matrix, "image_A": matrix.copy(), "v": vector, "constant_v": vector.copy()}


def product(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A (rows, fours, 4) times v (fours, 4), (rows,)."""
    return np.asarray(A.reshape(len(A), -1) @ v.reshape(-1))


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("A", ("rows", "fours", 4)),
        lab.image("image_A", ("rows", "fours"), 4),
        lab.input("v", ("fours", 4)),
        lab.constant("constant_v", ("fours", 4)),
        lab.output("y", "rows"),
        lab.value("rows"),
        lab.value("fours"),
    ],
    "reference": product,
    "tolerance": lab.rounding(lambda A, v: product(np.abs(A), np.abs(v)), "4 * fours"),
    "work": lab.work(flops="8 * rows * fours", read="16 * (rows * fours + fours)", write="4 * rows"),
}
ITEMS = lab.launch(items="rows", local=64)
TILES = "an image lies in tiles, so that neighbouring rows share lines of memory"
CACHED = "the vector is the smaller part of the loads, and the first cache serves it as well"

ENTRY = Entry(
    id="D2",
    name="matvec_image",
    title="a dense matrix times a vector, without the cache of images",
    project="ViennaCL",
    category="D",
    provenance=["rec"],
    versions=[
        own(
            "bug",
            "matvec_image/global_loads",
            "matrix and vector in global memory",
            stages=[lab.stage("matvec_image_global_loads", "A v y rows fours", ITEMS)],
            **TASK,
        ),
        own(
            "fix",
            "matvec_image/matrix_in_image",
            "the matrix as an image of four floats a pixel",
            stages=[lab.stage("matvec_image_matrix_in_image", "image_A v y rows fours", ITEMS)],
            predicted={
                "gpu_fast_fp64": fast(TILES),
                "gpu_slow_fp64": fast(TILES),
                "cpu": slow("images are read by code that computes the place of each pixel"),
            },
            paper=[gain("GTX 285", 2.42), gain("GTX 480", 4.03), gain("HD 5870", 9.3)],
            **TASK,
        ),
        own(
            "fix",
            "matvec_image/vector_in_constant",
            "the vector in constant memory",
            stages=[lab.stage("matvec_image_vector_in_constant", "A constant_v y rows fours", ITEMS)],
            predicted={"gpu_fast_fp64": same(CACHED), "gpu_slow_fp64": same(CACHED), "cpu": same(CACHED)},
            **TASK,
        ),
    ],
    sizes={"rows": 4096, "fours": 1024},
    quick={"rows": 256, "fours": 256},
    awkward={"rows": 77, "fours": 33},
    explains="lines of memory that a load touches, and the layout of images",
    exactness="fp32 sums in the same order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "Each work-item multiplies a row of a matrix by the vector, four columns a step. Both are read from global "
            "memory. How the project read them is reconstructed from the paper's words."
        ),
        slow=(
            "Neighbouring work-items read a whole row apart, and GPUs of the time had no cache, or a small one, before "
            "their global memory."
        ),
        fix=(
            "The matrix as an image. It is stored in tiles, and read by way of the cache of textures. Where the vector "
            "has at most 64 KiB, it can also lie in constant memory. GPUs of today put all loads into one cache."
        ),
        look_for=(
            "Reads that are near each other in two dimensions and not in one. Try an image there, and measure: on a "
            "CPU its reads are computed."
        ),
    ),
    data=data,
)
