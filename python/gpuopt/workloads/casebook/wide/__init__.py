"""A5: structs of many floats, one by each work-item, or by way of local memory."""

from __future__ import annotations

from typing import Any

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, own, same

TASK: dict[str, Any] = {
    "arguments": [lab.input("X", ("n", "V")), lab.output("Y", ("n", "V")), lab.value("n")],
    "reference": lambda X: X[:, ::-1],
    "tolerance": 0.0,
    "work": lab.work(read="4 * n * V", write="4 * n * V"),
    "parameters": {"WIDTH": [16, 8, 32]},
    "constraints": "WIDTH == V",
}
SIDE_BY_SIDE = "a load of neighbouring work-items becomes one line of memory instead of one line each"

ENTRY = Entry(
    id="A5",
    name="wide",
    title="structs of many floats, one by each work-item",
    project="a pattern of several projects",
    category="A",
    provenance=["fig"],
    versions=[
        own(
            "bug",
            "wide/struct_per_item",
            "each work-item reads and writes its own struct",
            launch=lab.launch(items="n", local=128),
            **TASK,
        ),
        own(
            "fix",
            "wide/by_local_memory",
            "the group copies floats side by side, and works on structs in local memory",
            launch=lab.launch(items="n", local=128),
            predicted={
                "gpu_fast_fp64": fast(SIDE_BY_SIDE),
                "gpu_slow_fp64": fast(SIDE_BY_SIDE),
                "cpu": same("a struct is one stream a core, and memory bounds both"),
            },
            **TASK,
        ),
    ],
    sizes={"n": 2**20, "V": 16},
    quick={"n": 2**16, "V": 16},
    awkward={"n": 333, "V": 8},
    explains="lines of memory that a load touches",
    exactness="numbers are moved: results are exact.",
    story=Story(
        did="Each work-item works on a struct of 8, 16 or 32 floats: it puts its numbers in reverse order.",
        slow=(
            "In each load neighbouring work-items are a whole struct apart, so that one load touches up to 32 lines "
            "of memory, and takes four bytes of each. Later loads want the same lines again, if the cache still has "
            "them."
        ),
        fix=(
            "The group copies the floats of its structs to local memory, neighbours side by side. It works on the "
            "structs there, and copies them back in the same way."
        ),
        look_for=(
            "Arrays of large structs on a GPU. Copy them by way of local memory, or store each member as an array of "
            "its own."
        ),
    ),
)
