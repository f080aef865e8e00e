"""A6: a dense matrix times a vector, a row to each work-item, or a row to each work-group."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, slow

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("A", ("rows", "columns")),
        lab.input("v", "columns"),
        lab.output("y", "rows"),
        lab.value("rows"),
        lab.value("columns"),
    ],
    "reference": lambda A, v: A @ v,
    "tolerance": lab.rounding(lambda A, v: np.abs(A) @ np.abs(v), "columns"),
    "work": lab.work(flops="2 * rows * columns", read="4 * (rows * columns + columns)", write="4 * rows"),
}
COALESCED = "neighbours read one line of memory instead of one each, and every column of a group is an item at work"

ENTRY = Entry(
    id="A6",
    name="vec_mul",
    title="a dense matrix times a vector, a row to each work-item",
    project="ViennaCL",
    category="A",
    provenance=["src"],
    versions=[
        own(
            "bug",
            "vec_mul/row_per_item",
            "a row to each work-item, element after element",
            launch=lab.launch(items="rows", local=256),
            **TASK,
        ),
        own(
            "fix",
            "vec_mul/row_per_group",
            "a row to each work-group, added up by a tree in local memory",
            launch=lab.launch(groups="rows", local=256),
            predicted={
                "gpu_fast_fp64": fast(COALESCED),
                "gpu_slow_fp64": fast(COALESCED),
                "cpu": slow("a row is one stream a core, which caches like best; the tree adds eight barriers a row"),
            },
            paper=[gain("GTX 285", 11.14), gain("GTX 480", 2.33), gain("HD 5870", 31.3)],
            **TASK,
        ),
    ],
    sizes={"rows": 4096, "columns": 4096},
    quick={"rows": 2048, "columns": 1024},
    awkward={"rows": 77, "columns": 333},
    explains="lines of memory that a load touches, and work-items in flight",
    exactness="fp32 sums in another order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did="Each work-item computes one element of the product: it multiplies a row of the matrix by the vector.",
        slow=(
            "The matrix is stored row by row, so that neighbouring work-items read elements a whole row apart at each "
            "step, and each comes from another line of memory. A matrix of some thousand rows also has too few items "
            "to keep a GPU busy."
        ),
        fix=(
            "A work-group takes a row. Its items read neighbouring columns, then a tree in local memory adds up their "
            "parts. The project itself changed its kernel to this later."
        ),
        look_for=(
            "A matrix stored by rows, and a kernel that gives each row to one work-item: A[get_global_id(0) * columns "
            "+ i] in a loop over i. On a CPU that is right: choose the kernel by the device."
        ),
    ),
    slips=[
        "Table II does not say which project its figures of memory access are from; that it is this one is inferred.",
        (
            "Table I has 1.71x for the whole project on the HD 5870, less than any figure of Table II for that device; "
            "how it was averaged is not said."
        ),
    ],
)
