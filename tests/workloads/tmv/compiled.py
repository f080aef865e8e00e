"""Yang 2012, Figures 10 and 11: products with a transposed matrix."""

from __future__ import annotations

from compiled.expectations import Expected, Mutant, Paper

STAGED = {"load global v float": 1, "store local shared_1 float": 1}
FIGURE_10 = (
    "Figure 10: B staged in local memory between two barriers; of A a float a step, at y + (x + i) * width, of B one"
    " from local memory."
)
FIGURE_11 = (
    "Figure 11: a column's rows over blockDimY work-items, whose sums are added in local memory after a barrier. "
)
F2 = "The text: float2 for A, two dot products a work-item, so that each element of B is read once for two."
ONCE = (
    "The listing adds sums in the loop over rows, wrong for more rows than work-items: here a third barrier behind it."
)
SCALARS = {"load global A float": 1, "mul long": 1, "load local shared_1 float": 1, "fma float": 1}
VECTORS = {"load global A float2": 1, "mul long": 1, "load local shared_1 float": 1, "fma float2": 1}


def figure_11(group: str, loop: dict[str, int], kind: str) -> Expected:
    sums = {f"store local shared_2 {kind}": 1, f"load local shared_2 {kind}": 1, "barrier": 3, f"group {group}": 1}
    return Expected(FIGURE_11 + (F2 if kind == "float2" else ""), loop, "load global A", STAGED | sums, compiled=ONCE)


PAPER = Paper(
    "tmv",
    "600x200 float32",
    {
        "paper:naive": Expected(
            FIGURE_10, SCALARS, "load global A", STAGED | {"barrier": 2, "store global y float": 1}
        ),
        "paper:f2": Expected(F2, VECTORS, "load global A", STAGED | {"barrier": 2, "load global A float": 0}),
        "paper:tlp": figure_11("32x8x1", SCALARS, "float"),
        "paper:tlp_f2": figure_11("32x8x1", VECTORS, "float2"),
        "paper:tlp_hd5870": figure_11("64x4x1", SCALARS, "float"),
        "paper:tlp_f2_hd5870": figure_11("64x4x1", VECTORS, "float2"),
    },
    (
        Mutant(
            "reads v from global memory each step",
            ("paper:naive", "paper:f2"),
            "tmv/include/columns.cl",
            "(REALV)(shared_1[mine + j])",
            "(REALV)(v[first + j])",
            "loop: load global v float: 1, not 0",
        ),
        Mutant(
            "reads two columns by a load each",
            ("paper:f2", "paper:tlp_f2_hd5870"),
            "tmv/include/columns.cl",
            "(*(global const REAL2 *)(p))",
            "(REAL2)((p)[0], (p)[1])",
            "loop: load global A float: 2, not 0",
        ),
        Mutant(
            "leaves out the barrier before the next elements of v",
            ("paper:tlp",),
            "tmv/include/columns.cl",
            "        barrier(CLK_LOCAL_MEM_FENCE);\n    }\n    return dot_product;",
            "    }\n    return dot_product;",
            "whole: barrier: ",
            right=False,
        ),
        Mutant(
            "waits at a barrier too many",
            ("paper:tlp_hd5870",),
            "tmv/include/shared_columns.cl",
            "    barrier(CLK_LOCAL_MEM_FENCE); ",
            "    barrier(CLK_LOCAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE); ",
            "whole: barrier: 4, not 3",
        ),
        Mutant(
            "adds the sums of a column twice",
            ("paper:tlp_f2",),
            "tmv/include/shared_columns.cl",
            "for (int i = 1; i < LOCAL_Y; ++i) dot_product += shared_2[i][get_local_id(0)];",
            "dot_product = 0; for (int i = 0; i < LOCAL_Y; ++i) dot_product += (shared_2[i][get_local_id(0)] "
            "+ shared_2[LOCAL_Y - 1 - i][get_local_id(0)]) / 2;",
            "whole: load local shared_2 float2: 2, not 1",
        ),
    ),
)
