"""Jang et al. 2009, Table 2 from buffers and from textures, and Yang et al. 2012, Figures 6 and 14."""

from __future__ import annotations

from collections.abc import Mapping

from compiled.expectations import Expected, Mutant, Paper


def loads(a: int, b: int, width: str, image: bool) -> dict[str, int]:
    """What fetches of A and B are: loads, or reads of pixels."""
    if image:
        return {"image image_a": a, "image image_b": b}
    return {f"load global A {width}": a, f"load global B {width}": b}


def jang(image: bool) -> dict[str, Expected]:
    """The steps of Table 2: naive, variable reduction, three unrollings, vectors, eight outputs."""
    ending, by = ("_image", "image") if image else ("", "load global B float")
    where = {"load global A float": 0, "load global B float": 0} if image else {"image image_a": 0}
    one = loads(1, 1, "float", image)
    pairs = {"add int2": 2, "add int4": 0}
    naive = pairs | {"fma float": 1} | ({} if image else {"mul long": 2})
    steps = {
        "naive": Expected(
            "Figures 3a and 5a: a fetch of A and of B a step, each at an index of two that has a step of its own.",
            one | naive,
            by,
            compiled="Whole numbers for floats; rows' offsets are multiplied each turn: vectors stay whole.",
        ),
        "variable_reduction": Expected(
            "Figure 5b: both indices in one vector of four, and both steps.",
            one | {"fma float": 1, "add int4": 1, "add int2": 0},
            by,
        ),
    }
    for unroll in (4, 8, 16):
        steps[f"unroll{unroll}"] = Expected(
            f"4.1.1, Table 2: {unroll} steps of naive at once, {2 * unroll} fetches.",
            loads(unroll, unroll, "float", image) | pairs | {"fma float": unroll},
            by,
        )
    wide = by if image else "load global B float4"
    for name, rows in (("vector_type", 1), ("multiple_output", 8)):
        steps[name] = Expected(
            f"Table 2, Figure 3b: {rows} fetches of A and four of B, all of float4, for {16 * rows} multiply-adds.",
            loads(rows, 4, "float4", image) | {"fma float4": 4 * rows, "add int4": 1},
            wide,
        )
    return {
        f"paper:{name}{ending}": Expected(e.says, e.loop, e.by, e.whole | where, e.compiled)
        for name, e in steps.items()
    }


def tile(x: int, y: int) -> Expected:
    ones = {"load global A float": 1, "store local of_a float": 1, "load global B float": x // y}
    ones |= {"store local of_b float": x // y}
    return Expected(
        "Figure 6: a tile of A, x wide and y high, and one of B, x by x, in local memory between two barriers.",
        ones | {"load local of_a float": x, "load local of_b float": x, "fma float": x, "barrier": 2},
        "fma",
        {f"group {x}x{y}x1": 1},
    )


BLOCKS = {f"paper:block_{x}x{y}": tile(x, y) for x, y in ((16, 16), (32, 8), (32, 16), (32, 32))}
CONSTANT = Expected(
    "Figure 14: an element of B from global memory, once for 16 multiply-adds with factors from constant memory.",
    {"load global B float": 1, "load constant panel float4": 4, "fma float4": 4},
    "load constant",
    {"barrier": 0, "store global D float": 16},
    compiled="Four of the listing's scalar factors are one load.",
)
STEPS: Mapping[str, Expected] = {
    **jang(False),
    **jang(True),
    **BLOCKS,
    "paper:constant": CONSTANT,
    "paper:constant_two_queues": CONSTANT,
}

FOUR, TILE = "gemm/include/four_columns.cl", "gemm/tile.cl"
PAPER = Paper(
    "gemm",
    "64x64x64 float32 nn",
    STEPS,
    (
        Mutant(
            "has one counter for both indices",
            ("paper:naive", "paper:naive_image"),
            "gemm/naive.cl",
            "#if PAIRS",
            "#if 0",
            "loop: add int2: 0, not 2",
        ),
        Mutant(
            "has running pointers",
            ("paper:naive",),
            "gemm/naive.cl",
            "        sum = fma((REAL)FETCH_A(index_a.x, index_a.y), (REAL)FETCH_B(index_b.x, index_b.y), sum);",
            "        sum = fma(A_AT(m, 0), B_AT(0, n), sum); A += A_STEP; B += B_STEP;",
            "loop: mul long: 0, not 2",
        ),
        Mutant(
            "has one vector of indices already",
            ("paper:naive_image",),
            "gemm/naive.cl",
            """        sum = fma((REAL)FETCH_A(index_a.x, index_a.y), (REAL)FETCH_B(index_b.x, index_b.y), sum);
        index_a += step_a;
        index_b += step_b;""",
            """        int4 index = (int4)(index_b, index_a);
        sum = fma((REAL)FETCH_A(index.z, index.w), (REAL)FETCH_B(index.x, index.y), sum);
        index += (int4)(step_b, step_a);
        index_a = index.zw, index_b = index.xy;""",
            "loop: add int",
        ),
        Mutant(
            "is unrolled by the compiler",
            ("paper:naive",),
            "gemm/naive.cl",
            "#pragma unroll 1",
            "#pragma unroll 4",
            "loop: fma float: 4, not 1",
        ),
        Mutant(
            "has one counter for both unrolled indices",
            ("paper:unroll4", "paper:unroll16_image"),
            "gemm/unrolled.cl",
            "#if PAIRS",
            "#if 0",
            "loop: add int2: 0, not 2",
        ),
        Mutant(
            "steps two indices of two",
            ("paper:variable_reduction", "paper:variable_reduction_image"),
            "gemm/reduced.cl",
            "index += step;",
            "index.xy += step.xy; index.zw += step.zw;",
            "loop: add int4: 0, not 1",
        ),
        Mutant(
            "is not unrolled",
            ("paper:unroll4", "paper:unroll16", "paper:unroll8_image"),
            "gemm/unrolled.cl",
            "#pragma unroll\n",
            "#pragma unroll 1\n",
            "loop: ",
        ),
        Mutant(
            "leaves a step out",
            ("paper:unroll8", "paper:unroll4_image", "paper:unroll16_image"),
            "gemm/unrolled.cl",
            "UNROLL",
            "(UNROLL - 1)",
            "loop: fma float: ",
        ),
        Mutant(
            "reads A by scalar loads",
            ("paper:vector_type",),
            FOUR,
            "    return four_at(&A_AT(m, k), ALIGNED_A);",
            "    return (REAL4)(A_AT(m, k), A_AT(m, k + 1), A_AT(m, k + 2), A_AT(m, k + 3));",
            "loop: load global A float: ",
        ),
        Mutant(
            "reads B by scalar loads",
            ("paper:multiple_output",),
            FOUR,
            "rows[i] = whole ? four_at(&B_AT(k + i, n), ALIGNED_B)",
            "rows[i] = whole ? (REAL4)(B_AT(k + i, n), B_AT(k + i, n + 1), B_AT(k + i, n + 2), B_AT(k + i, n + 3))",
            "loop: load global B float4: 0, not 4",
        ),
        Mutant(
            "fetches B again for each row",
            ("paper:multiple_output_image",),
            FOUR,
            "            sum[i] = fma((REAL4)(a[i].x), b[0], sum[i]); ",
            "            b[0] = FOUR_AT(image_b, index.x, index.z); sum[i] = fma((REAL4)(a[i].x), b[0], sum[i]); ",
            "loop: image image_b: 11, not 4",
        ),
        Mutant(
            "fetches A twice",
            ("paper:vector_type_image",),
            FOUR,
            "a[i] = FOUR_AT(image_a, index.w, index.y + i);",
            "a[i] = FOUR_AT(image_a, index.w, index.y + i) + 0 * FOUR_AT(image_a, index.w, index.y);",
            "loop: image image_a: 2, not 1",
        ),
        Mutant(
            "reads B from global memory, though staged",
            ("paper:block_16x16",),
            TILE,
            "sum = fma(of_a[y][k], of_b[k][x], sum);",
            "sum = fma(of_a[y][k], first_k + k < K && first_n + x < N ? B_AT(first_k + k, first_n + x) : 0, sum);",
            "loop: load global B float: ",
        ),
        Mutant(
            "leaves out the barrier before the next tiles",
            ("paper:block_32x16", "paper:block_32x32"),
            TILE,
            "sum = fma(of_a[y][k], of_b[k][x], sum);\n        barrier(CLK_LOCAL_MEM_FENCE);",
            "sum = fma(of_a[y][k], of_b[k][x], sum);",
            "loop: barrier: 1, not 2",
            right=False,
        ),
        Mutant(
            "stages each element of A twice",
            ("paper:block_32x8",),
            TILE,
            "        barrier(CLK_LOCAL_MEM_FENCE);\n#pragma unroll",
            "        barrier(CLK_LOCAL_MEM_FENCE);\n"
            "        of_a[i][l] = first_m + i < M && first_k + l < K ? A_AT(first_m + i, first_k + l) : 0;\n"
            "        barrier(CLK_LOCAL_MEM_FENCE);\n#pragma unroll",
            "loop: barrier: 3, not 2",
        ),
        Mutant(
            "reads the panel from global memory",
            ("paper:constant", "paper:constant_two_queues"),
            "gemm/constant.cl",
            '#include "gemm/include/gemm.cl"',
            '#include "gemm/include/gemm.cl"\n#define constant global const',
            "loop: load constant panel float4: 0, not 4",
        ),
    ),
)
