"""C2: the fix of C1 as the paper prints it, which counts sums several times."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, own, slow

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("A", ("rows", "columns"), low=0.0, high=1.0),
        lab.input("v", "rows", low=0.0, high=1.0),
        lab.output("y", "columns"),
        lab.value("rows"),
        lab.value("columns"),
    ],
    "reference": lambda A, v: A.T @ v,
    "tolerance": lab.rounding(lambda A, v: np.abs(A.T) @ np.abs(v), "rows"),
    "work": lab.work(flops="2 * rows * columns", read="4 * (rows * columns + rows)", write="4 * columns"),
}
MORE = "eight times as many work-items load at the same time"
GROUPS = lab.launch(items=("columns", 8), local=(32, 8))

ENTRY = Entry(
    id="C2",
    name="tmv_printed",
    title="the fix of C1 as it is printed",
    project="the paper's Figure 11",
    category="C",
    provenance=["fig"],
    versions=[
        own(
            "bug",
            "tmv_printed/column_per_item",
            "a column to each work-item",
            launch=lab.launch(items="columns", local=64),
            **TASK,
        ),
        own(
            "wrong",
            "tmv_printed/as_printed",
            "strips of rows, added within the loop over tiles",
            launch=GROUPS,
            **TASK,
        ),
        own(
            "fix",
            "tmv_printed/reduced_after",
            "strips of rows, added after the loop",
            launch=GROUPS,
            predicted={
                "gpu_fast_fp64": fast(MORE),
                "gpu_slow_fp64": fast(MORE),
                "cpu": slow("eight streams for one, each with barriers around it"),
            },
            **TASK,
        ),
    ],
    sizes={"rows": 4096, "columns": 4096},
    quick={"rows": 1024, "columns": 1024},
    awkward={"rows": 333, "columns": 45},
    explains="work-items in flight",
    exactness="fp32 sums in another order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "The paper prints its fix of the transposed product, Figure 11. Eight work-items share a column; a tile is "
            "256 rows, and after each tile their sums are added up."
        ),
        slow=(
            "The printed kernel is wrong for more than 256 rows. Seven of the eight keep their sums from tile to tile, "
            "and what they had after the first tile is added again after the second. With numbers in [0, 1) and 512 "
            "rows results are 1.4 times too large, with 1024 rows 2.3 times. Up to 256 rows they are right, and a test "
            "of that size shows nothing."
        ),
        fix="The sums of a column's strips are added once, after the loop over tiles.",
        look_for=(
            "A reduction inside a loop of sums that go on growing. Test a kernel at sizes of several tiles, and at one "
            "that no tile divides."
        ),
    ),
    slips=["Figure 11 is right only where rows are no more than a tile, BX x BY."],
)
