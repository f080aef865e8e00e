"""B2: a matrix product by tiles in local memory, in work-groups of several shapes."""

from __future__ import annotations

from gpuopt.configuration import Configuration
from gpuopt.problem import Problem
from gpuopt.workloads.casebook.entry import Entry, Story, built_in, fast, gain, same, slow
from gpuopt.workloads.gemm.problem import gemm


def problem(n: int) -> Problem:
    """A product of square matrices."""
    return gemm(n)


def tile(x: int, y: int) -> Configuration:
    """Groups of ``x`` columns and ``y`` rows of the product."""
    return Configuration("tile", X=x, Y=y)


REUSE = (
    "each element of B that is loaded serves 16 rows and each of A 32 columns: 0.094 loads a multiply-add, not 0.125"
)
WIDER = "the loop over columns makes wider vectors of the items of a group"

ENTRY = Entry(
    id="B2",
    name="matmul_block",
    title="a matrix product by tiles, in square work-groups",
    project="CUDA SDK",
    category="B",
    provenance=["fig"],
    versions=[
        built_in("bug", tile(16, 16), "groups of 16 x 16"),
        built_in(
            "fix",
            tile(32, 8),
            "groups of 32 x 8, a warp in one row",
            predicted={
                "gpu_fast_fp64": same("it loads more, 0.156 a multiply-add, but waits at half as many barriers"),
                "gpu_slow_fp64": fast("rows are whole lines, and there are half as many barriers"),
                "cpu": fast(WIDER),
            },
            paper=[gain("GTX 480", 1.051, 1.1)],
        ),
        built_in(
            "fix",
            tile(32, 16),
            "groups of 32 x 16, with more reuse as well",
            predicted={"gpu_fast_fp64": fast(REUSE), "gpu_slow_fp64": fast(REUSE), "cpu": fast(WIDER)},
            paper=[gain("GTX 480", 1.12), gain("GTX 480", 1.26, level="program")],
        ),
        built_in(
            "trap",
            tile(32, 32),
            "groups of 32 x 32, with the most reuse",
            predicted={
                "gpu_fast_fp64": fast("two such groups fill a compute unit, and each element serves 32 others"),
                "gpu_slow_fp64": slow("one such group fills a compute unit, which then waits at each barrier"),
                "cpu": fast(WIDER),
            },
        ),
    ],
    sizes={"n": 1024},
    quick={"n": 128},
    awkward={"n": 77},
    explains="loads of local and global memory for each multiply-add, and groups that wait at barriers",
    exactness="fp32 sums in another order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "A work-group multiplies tiles of A and B that it has put into local memory. Each work-item has one "
            "element of the product. The CUDA SDK's sample did it in groups of 16 x 16."
        ),
        slow=(
            "A row of the group is half of a warp, and a tile of 16 serves each element that is loaded only 16 times."
        ),
        fix=(
            "32 x 16: rows as wide as a warp, and 0.094 loads of global memory for each multiply-add instead of 0.125. "
            "32 x 8 gains although it loads more, 0.156. 32 x 32 loads least, and lost on the GTX 480, where one such "
            "group fills a compute unit; in energy it was best."
        ),
        look_for=(
            "Tiles of 16 x 16. Try 32 x 16, and do not take the largest group for the best. On a CPU shapes matter for "
            "another reason: how the compiler makes vectors of work-items."
        ),
    ),
    slips=[
        "The gain is 12 % in the mean and 13 % at best in the text, and 1.26x in Table I.",
        "In energy it is 22 % in the text, and 1.26x in Table I.",
        "An element of A is used again by items of equal y, not x, as the text has it.",
    ],
    problem=problem,
)
