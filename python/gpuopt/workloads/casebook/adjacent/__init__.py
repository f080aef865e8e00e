"""A1: neighbouring numbers copied one at a time by each work-item, or as one vector."""

from __future__ import annotations

from typing import Any

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("X", ("items", "V")),
        lab.output("Y", ("items", "V")),
        lab.value("items"),
    ],
    "reference": lambda X: X,
    "tolerance": 0.0,
    "work": lab.work(read="4 * items * V", write="4 * items * V"),
    "launch": lab.launch(items="items", local=256),
    "parameters": {"WIDTH": [4, 2]},
    "constraints": "WIDTH == V",
}
WITHOUT_GAPS = "one load of a vector in place of several that each touch all of its lines"

ENTRY = Entry(
    id="A1",
    name="adjacent",
    title="neighbouring numbers, one at a time by each work-item",
    project="a pattern of several projects",
    category="A",
    provenance=["fig"],
    versions=[
        own("bug", "adjacent/scalars", "V numbers one after another, at stride V", **TASK),
        own(
            "fix",
            "adjacent/vector",
            "one float2 or float4",
            predicted={
                "gpu_fast_fp64": fast(WITHOUT_GAPS),
                "gpu_slow_fp64": fast(WITHOUT_GAPS),
                "cpu": same("a core copies the same lines in the same order, and memory bounds both"),
            },
            paper=[gain("GTX 285", 3.33), gain("GTX 480", 1.56), gain("HD 5870", 2.66)],
            **TASK,
        ),
    ],
    sizes={"items": 2**22, "V": 4},
    quick={"items": 2**18, "V": 4},
    awkward={"items": 1013, "V": 2},
    explains="lines of memory that a load touches",
    exactness="numbers are copied: results are exact.",
    story=Story(
        did="Each work-item takes two or four numbers that lie side by side, by as many loads of one number.",
        slow=(
            "In each load neighbouring work-items are two or four numbers apart. The load touches two or four times as "
            "many lines as it needs, and the next one the same lines again. The first cache of the GTX 480 still holds "
            "them with two numbers, and no longer with four."
        ),
        fix="One load of a float2 or a float4. It pays even where some of its numbers are not used.",
        look_for=(
            "Indices such as X[4 * i], X[4 * i + 1] with i the global id. Make the pointer one of vectors where the "
            "data are aligned for it, or let neighbours take neighbouring numbers."
        ),
    ),
)
