"""C1: a transposed matrix times a vector, with as many work-items as there are columns, or more."""

from __future__ import annotations

from gpuopt.configuration import Configuration
from gpuopt.workloads.casebook.entry import Entry, Story, built_in, fast, gain, same, slow
from gpuopt.workloads.tmv.problem import tmv

MORE = "eight times as many work-items load at the same time"
COLUMNS_ENOUGH = "both go through the matrix by rows as memory has it, which bounds them"
STRIPS = "eight streams for one, each with barriers around it"

ENTRY = Entry(
    id="C1",
    name="tmv",
    title="a transposed matrix times a vector, a column to each work-item",
    project="ViennaCL",
    category="C",
    provenance=["src"],
    versions=[
        built_in("bug", Configuration("naive"), "a column to each work-item"),
        built_in(
            "trap",
            Configuration("f2"),
            "two columns to each work-item, as float2",
            predicted={
                "gpu_fast_fp64": slow("there are half as many work-items, of which there were too few"),
                "gpu_slow_fp64": slow("there are half as many work-items, of which there were too few"),
                "cpu": same(COLUMNS_ENOUGH),
            },
        ),
        built_in(
            "fix",
            Configuration("tlp"),
            "a column to eight work-items, whose sums are added in local memory",
            predicted={"gpu_fast_fp64": fast(MORE), "gpu_slow_fp64": fast(MORE), "cpu": slow(STRIPS)},
        ),
        built_in(
            "fix",
            Configuration("tlp_f2"),
            "both",
            predicted={"gpu_fast_fp64": fast(MORE), "gpu_slow_fp64": fast(MORE), "cpu": slow(STRIPS)},
            paper=[gain("GTX 285", 1.82, 2.38), gain("GTX 480", 1.61, 5.0), gain("HD 5870", 3.8, 6.89)],
        ),
    ],
    sizes={"rows": 4096, "cols": 4096},
    quick={"rows": 1024, "cols": 1024},
    awkward={"rows": 77, "cols": 45},
    explains="work-items in flight",
    exactness="fp32 sums in another order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "A transposed matrix is multiplied by a vector, each column by one work-item. The kernel was written for "
            "one GPU, and is used on all devices."
        ),
        slow=(
            "The loads are good: neighbours read side by side. But there are only as many work-items as columns, some "
            "thousand. A GPU needs tens of thousands: while some wait for memory, others must have loads under way."
        ),
        fix=(
            "Several work-items share a column (tlp): each adds up some of its rows, and their sums are added in "
            "local memory. Two columns to each work-item (f2), loaded as one float2, halve the number of work-items, "
            "which makes small matrices slower; the paper found both together best. A CPU has few cores, which any "
            "number of columns keeps busy: there the paper's reason for the split is gone."
        ),
        look_for=(
            "A kernel with as many work-items as the result has elements, where each element is a long sum. Count the "
            "work-items, not the work. And choose by the device: what a GPU gains by the split, a CPU may lose."
        ),
    ),
    slips=[
        "Figure 11 adds within the loop over tiles and counts sums several times: see C2.",
        "On the HD 5870 the gain is 2.5 to 3.8x in the text, and 3.80 to 6.89x in Table II; on the GTX 480 it is from "
        "2.0x, or from 1.61x.",
        "Two projects are said to have considered portability; Table II has one.",
    ],
    problem=tmv,
)
