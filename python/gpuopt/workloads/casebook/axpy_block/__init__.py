"""B5: y + alpha x, one kernel in small and large work-groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Prediction, Story, fast, gain, own

ALPHA = 1.5  # exact in fp32

TASK: dict[str, Any] = {
    "arguments": [
        lab.input("x", "n"),
        lab.inout("y", "n"),
        lab.value("alpha", "float32", ALPHA),
        lab.value("n"),
    ],
    "reference": lambda x, y, alpha: {"y": y + alpha * x},
    "tolerance": lab.rounding(lambda x, y, alpha: {"y": np.abs(y) + np.abs(alpha * x)}, 2),
    "work": lab.work(flops="2 * n", read="8 * n", write="4 * n"),
}


def predicted(gpu: str) -> dict[Any, Prediction]:
    """The same of all larger groups, for reasons of their own."""
    cpu = "a group costs a core a call, and 16 items are one or two vectors of work"
    return {"gpu_fast_fp64": fast(gpu), "gpu_slow_fp64": fast(gpu), "cpu": fast(cpu)}


ENTRY = Entry(
    id="B5",
    name="axpy_block",
    title="a sum of vectors, in small work-groups",
    project="FLAGON",
    category="B",
    provenance=["rec"],
    versions=[
        own("bug", "axpy_block/items_16", "groups of 16", launch=lab.launch(items="n", local=16), **TASK),
        own(
            "fix",
            "axpy_block/items_32",
            "groups of 32, as many as run together",
            launch=lab.launch(items="n", local=32),
            predicted=predicted("all lanes have work instead of half of them"),
            **TASK,
        ),
        own(
            "fix",
            "axpy_block/items_64",
            "groups of 64",
            launch=lab.launch(items="n", local=64),
            predicted=predicted("a compute unit holds four times as many work-items"),
            **TASK,
        ),
        own(
            "fix",
            "axpy_block/items_256",
            "groups of 256, which fill every device",
            launch=lab.launch(items="n", local=256),
            predicted=predicted("a compute unit is full, and a sixteenth of the groups must be launched"),
            paper=[gain("GTX 480", 1.67)],
            **TASK,
        ),
    ],
    sizes={"n": 1 << 24},
    quick={"n": 1 << 20},
    awkward={"n": 1009},
    explains="work-items that a compute unit has at a time, and groups to launch",
    exactness="one product and one sum: within their rounding, whether the compiler joins them or not, against fp64.",
    story=Story(
        did="Each work-item adds alpha times an element of one vector to that of another, in small work-groups.",
        slow=(
            "GPUs run 32 or 64 items together: in groups of 16 some of their lanes have nothing to do. And a compute "
            "unit holds a number of groups, however small they are. Groups of 64 fill a third of one of a GTX 480, "
            "so that too few loads are under way to hide how long memory takes. From Volta on, 32 groups of 64 fill "
            "a compute unit; smaller ones still do not."
        ),
        fix="Groups of 256 items. All sizes from 16 are here, so that one sees where a device is full.",
        look_for=(
            "A local size below 128, or one that is left to chance, as where groups follow from the length of the "
            "data. In a library of today groups of one item became groups of 256, 81x as fast on an H100."
        ),
    ),
    slips=["Which sizes of groups this project had is not said: that it is a case of them is inferred by elimination."],
)
