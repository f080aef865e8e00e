"""A4: bytes copied one by each work-item, or four at a time."""

from __future__ import annotations

from typing import Any

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, own, same

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("X", "n", "uint8", low=0, high=256),
        lab.output("Y", "n", "uint8"),
        lab.value("n"),
    ],
    "reference": lambda X: X,
    "work": lab.work(read="n", write="n"),
}
MORE_A_LOAD = "a load moves four times as many bytes, and there is a quarter of the loads and work-items"

ENTRY = Entry(
    id="A4",
    name="narrow",
    title="bytes, one by each work-item",
    project="a pattern of several projects",
    category="A",
    provenance=["fig"],
    versions=[
        own(
            "bug",
            "narrow/byte_per_item",
            "one uchar by each work-item",
            launch=lab.launch(items="n", local=256),
            **TASK,
        ),
        own(
            "fix",
            "narrow/four_as_uint",
            "four of them as one uint",
            launch=lab.launch(items="(n + 3) / 4", local=256),
            predicted={
                "gpu_fast_fp64": fast(MORE_A_LOAD),
                "gpu_slow_fp64": fast(MORE_A_LOAD),
                "cpu": same("compilers make vectors of neighbouring work-items, and memory bounds both"),
            },
            **TASK,
        ),
    ],
    sizes={"n": 2**26},
    quick={"n": 2**20},
    awkward={"n": 1013},
    explains="bytes that a load moves",
    exactness="bytes are copied: results are exact.",
    story=Story(
        did="Each work-item reads and writes one byte.",
        slow=(
            "A GPU has so many loads under way and no more. If each work-item moves one byte, they are too few bytes "
            "to keep memory busy. The paper shows it by the rate of a copy for each type, without a figure in its text."
        ),
        fix="Each work-item takes four bytes as one uint, and works on its parts.",
        look_for=(
            "Arrays of char or short that are read one element a work-item. On a GPU read them as uint or as vectors; "
            "mind the last few elements."
        ),
    ),
)
