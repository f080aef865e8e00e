"""B1: a copy of a square array in work-groups of several shapes."""

from __future__ import annotations

from typing import Any

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Prediction, Predictions, Story, fast, gain, own, same, slow

TASK: dict[str, Any] = {
    "arguments": [lab.input("X", ("n", "n")), lab.output("Y", ("n", "n")), lab.value("n")],
    "reference": lambda X: X,
    "tolerance": 0.0,
    "work": lab.work(read="4 * n * n", write="4 * n * n"),
}
ON_A_CPU = same("a core runs the items of a group row by row, and memory bounds the copy")
ALIKE = same("caches put together what two half rows need, and memory bounds the copy")


def launch(x: int, y: int) -> Any:
    """An item for each element, in groups of ``x`` columns and ``y`` rows."""
    return lab.launch(items=("n", "n"), local=(x, y))


def on_gpus(fast_fp64: Prediction, slow_fp64: Prediction) -> Predictions:
    return {"gpu_fast_fp64": fast_fp64, "gpu_slow_fp64": slow_fp64, "cpu": ON_A_CPU}


WHOLE_LINES = fast("a warp is one row of the group, which is a whole line of memory")
QUARTERS = slow("a warp is four rows of the group, and each of its loads touches four lines")

ENTRY = Entry(
    id="B1",
    name="copy2d",
    title="a copy in two dimensions, in square work-groups",
    project="a pattern of several projects",
    category="B",
    provenance=["fig"],
    versions=[
        own("bug", "copy2d/16x16", "groups of 16 x 16", launch=launch(16, 16), **TASK),
        own(
            "fix",
            "copy2d/32x8",
            "groups of 32 x 8",
            launch=launch(32, 8),
            predicted=on_gpus(ALIKE, WHOLE_LINES),
            paper=[gain("GTX 480", 1.0, 1.08)],
            **TASK,
        ),
        own(
            "fix",
            "copy2d/64x4",
            "groups of 64 x 4",
            launch=launch(64, 4),
            predicted=on_gpus(ALIKE, WHOLE_LINES),
            **TASK,
        ),
        own(
            "trap",
            "copy2d/8x32",
            "groups of 8 x 32",
            launch=launch(8, 32),
            predicted=on_gpus(QUARTERS, QUARTERS),
            **TASK,
        ),
    ],
    sizes={"n": 4096},
    quick={"n": 512},
    awkward={"n": 77},
    explains="lines of memory that a load touches",
    exactness="numbers are copied: results are exact.",
    story=Story(
        did="An array is copied in work-groups of 16 x 16, as many samples have them.",
        slow=(
            "The 32 work-items of a warp are two rows of the group, so that a load touches two lines of memory and "
            "takes half of each."
        ),
        fix=(
            "Groups of as many work-items that are 32 or 64 wide. On the GTX 480 it was up to 8 % of bandwidth and "
            "15 % of energy; the HD 5870 wanted 64. Groups 8 wide lost."
        ),
        look_for="Work-groups that are narrower than a warp. Try 32 x 8 first where memory bounds the kernel.",
    ),
)
