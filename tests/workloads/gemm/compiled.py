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
    naive = {"fma float": 1, "add int4": 0} | ({} if image else {"mul long": 1})
    steps = {
        "naive": Expected(
            "Figure 3a: a fetch of A and of B a step, each at an index of its own.",
            one | naive,
            by,
            compiled="Figure 5a has two vectors of two for indices, stepped apart; here two whole numbers.",
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
            loads(unroll, unroll, "float", image) | {"fma float": unroll},
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
            "has running pointers",
            ("paper:naive",),
            "gemm/naive.cl",
            "    for (int k = 0; k < K; ++k) sum = fma((REAL)FETCH_A(k, m + FIRST_ROW), (REAL)FETCH_B(n, k), sum);",
            "    global const REAL *a = &A_AT(m, 0), *b = &B_AT(0, n);\n"
            "    for (int k = 0; k < K; ++k, a += A_STEP, b += B_STEP) sum = fma(*a, *b, sum);",
            "loop: mul long: 0, not 1",
        ),
        Mutant(
            "has one vector of indices already",
            ("paper:naive_image",),
            "gemm/naive.cl",
            "    for (int k = 0; k < K; ++k) sum = fma((REAL)FETCH_A(k, m + FIRST_ROW), (REAL)FETCH_B(n, k), sum);",
            "    int4 index = (int4)((int)n, 0, 0, (int)m + FIRST_ROW);\n"
            "    for (int left = K; left > 0; --left, index += (int4)(0, 1, 1, 0))\n"
            "        sum = fma((REAL)FETCH_A(index.z, index.w), (REAL)FETCH_B(index.x, index.y), sum);",
            "loop: add int4: 1, not 0",
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
            "#pragma unroll",
            "#pragma unroll 1",
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
