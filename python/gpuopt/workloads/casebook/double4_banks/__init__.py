"""F6: a tile of double4 in local memory, whose banks conflict, or an array for each component."""

from __future__ import annotations

from gpuopt.workloads.casebook.entry import Entry, Story, gain, own, same
from gpuopt.workloads.casebook.nbody_rsqrt import TASK, data

ONCE_A_TILE = "conflicts are of one store for each tile; the loop reads one body for all, and arithmetic bounds it"

ENTRY = Entry(
    id="F6",
    name="double4_banks",
    title="banks of local memory that conflict, and do not matter",
    project="QymSym, orbits of many bodies",
    category="F",
    provenance=["rec"],
    versions=[
        own("bug", "double4_banks/double4_tile", "a tile of double4", **TASK),
        own(
            "control",
            "double4_banks/four_tiles",
            "four arrays of doubles, without conflicts",
            predicted={
                "gpu_fast_fp64": same(ONCE_A_TILE),
                "gpu_slow_fp64": same(ONCE_A_TILE),
                "cpu": same("local memory is plain memory there, and has no banks to mind"),
            },
            paper=[gain("GTX 480", 1.0)],
            **TASK,
        ),
    ],
    sizes={"n": 4096},
    quick={"n": 1024},
    awkward={"n": 77},
    explains="nothing: arithmetic bounds both",
    exactness="fp64: the same products and sums in the same order; within the rounding of sums of so many terms.",
    story=Story(
        did="A tile of bodies lies in local memory as double4, place and mass together.",
        slow=(
            "Neighbouring work-items write 32 bytes apart, so that several of them want the same bank at a time and "
            "wait for each other. A profiler counts it. But it is one store for each tile, and in the loop all read "
            "the same body, which one access serves."
        ),
        fix="An array for each component. The conflicts go, and the time does not change: the paper found no gain.",
        look_for=(
            "What bounds the kernel, before mending what a counter shows. Conflicts matter where local memory is the "
            "bottleneck."
        ),
    ),
    data=data,
)
