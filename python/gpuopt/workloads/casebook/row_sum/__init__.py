"""A2: sums of rows, a row to each work-item, or coalesced by way of local memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, slow

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("X", ("rows", "columns")),
        lab.output("s", "rows"),
        lab.value("rows"),
        lab.value("columns"),
    ],
    "reference": lambda X: X.sum(axis=1),
    "tolerance": lab.rounding(lambda X: np.abs(X).sum(axis=1), "columns"),
    "work": lab.work(flops="rows * columns", read="4 * rows * columns", write="4 * rows"),
}
COALESCED = "a load of neighbouring work-items becomes one line of memory instead of one line each"

ENTRY = Entry(
    id="A2",
    name="row_sum",
    title="sums of rows, a row to each work-item",
    project="a pattern of several projects",
    category="A",
    provenance=["fig"],
    versions=[
        own(
            "bug",
            "row_sum/row_per_item",
            "a row to each work-item, element after element",
            launch=lab.launch(items="rows", local=256),
            **TASK,
        ),
        own(
            "fix",
            "row_sum/tiled",
            "tiles of 32 x 32 elements by way of local memory",
            launch=lab.launch(items=("rows", 8), local=(32, 8)),
            predicted={
                "gpu_fast_fp64": fast(COALESCED),
                "gpu_slow_fp64": fast(COALESCED),
                "cpu": slow(
                    "a core runs along a few rows, streams that caches like; the tile adds copies and barriers"
                ),
            },
            paper=[gain("GTX 285", 5.96), gain("GTX 480", 3.46), gain("HD 5870", 36.9)],
            **TASK,
        ),
    ],
    sizes={"rows": 16384, "columns": 1024},
    quick={"rows": 8192, "columns": 512},
    awkward={"rows": 77, "columns": 45},
    explains="lines of memory that a load touches",
    exactness="fp32 sums in another order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did="Each work-item adds up one row of a matrix that is stored row by row.",
        slow=(
            "On a GPU, neighbouring work-items read at each step elements that lie a whole row apart. One load by 32 "
            "of them touches 32 lines of memory and uses 4 bytes of each, and a line is dropped from the cache before "
            "its other elements are wanted."
        ),
        fix=(
            "A work-group of 32 x 8 copies a tile of 32 x 32 elements into local memory; while it copies, neighbouring "
            "work-items read elements that lie beside each other in a row, 128 bytes. Then 8 work-items share a row: "
            "each adds up 4 elements of a tile, and at the end their sums are added."
        ),
        look_for=(
            "The global id times the length of a row in an index: X[get_global_id(0) * width + i] in a loop over i. On "
            "a GPU let neighbouring work-items read neighbouring elements. On a CPU, where a core runs along a few "
            "rows at a time, leave it as it is."
        ),
    ),
)
