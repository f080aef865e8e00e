"""Yang et al. 2012, patterns of accesses: Figures 3, 5, 8 and 13, and the text's fixes of Figure 3."""

from __future__ import annotations

from collections.abc import Mapping

from compiled.expectations import Expected, Mutant, Paper
from gpuopt import Configuration


def pattern(
    says: str, variant: str, loop: Mapping[str, int], by: str, whole: Mapping[str, int], **levels: int
) -> Expected:
    return Expected(says, loop, by, whole, configuration=Configuration(variant, **levels))


READ, WRITTEN = "load global from float", "store global to float"
STEPS = {
    "Figure 3a": pattern(
        "Each of two neighbours by a load and a store.", "adjacent", {}, "", {READ: 2, WRITTEN: 2}, SPAN=2
    ),
    "Figure 3a, fixed": pattern(
        "Both by one float2.", "adjacent_vector", {}, "", {f"{READ}2": 1, f"{WRITTEN}2": 1}, SPAN=2
    ),
    "Figure 3b": pattern("A row a work-item, a load a step.", "row", {READ: 1}, READ, {WRITTEN: 1}),
    "Figure 3b, fixed": pattern(
        "Rows by way of local memory, loaded side by side.",
        "row_tile",
        {READ: 8, "store local tile float": 8, "load local tile float": 32, "barrier": 2},
        "load local",
        {WRITTEN: 1},
    ),
    "Figure 3c": pattern("Three loads, delta apart.", "shared", {}, "", {READ: 3, WRITTEN: 1}, DELTA=1),
    "Figure 3c, fixed": pattern(
        "The same from local memory, each element loaded once but for the halo.",
        "shared_tile",
        {},
        "",
        {READ: 2, "store local tile float": 2, "barrier": 1, "load local tile float": 3, WRITTEN: 1},
        DELTA=1,
    ),
    "Figure 5": pattern("A copy of a 2D array, an element at a time.", "copy2d", {READ: 1, WRITTEN: 1}, READ, {}),
    "Figure 8": pattern(
        "a = A[idnx * wA + i], b = B[idny * wB + i]; temp += pow(a - b, 2).",
        "cache_reuse",
        {READ: 2, "pow float": 1},
        READ,
        {"barrier": 0},
        MATH=1,
    ),
    "Figure 13, constant": pattern(
        "A small block read again and again.", "constant", {"load constant from float4": 8}, "load constant", {}
    ),
    "Figure 13, local": pattern(
        "A small block read again and again.", "local", {"load local block float4": 8}, "load local", {"barrier": 1}
    ),
    "Figure 13, image": pattern("A small block read again and again.", "image2d", {"image from": 8}, "image", {}),
}

PAPER = Paper(
    "microbench",
    "12288 96 2",
    STEPS,
    (
        Mutant(
            "loads both by one vector",
            ("Figure 3a",),
            "microbench/adjacent.cl",
            "for (int i = 0; i < SPAN; ++i) held[i] = from[first + i];",
            "for (int i = 0; i < 1; ++i) vstore2(vload2(0, from + first), 0, held);",
            "whole: load global from float2: 1, not 0",
        ),
        Mutant(
            "copies each of two by itself",
            ("Figure 3a, fixed",),
            "microbench/adjacent_vector.cl",
            "((global SPANNED*)to)[item] = ((global const SPANNED*)from)[item];",
            "for (int i = 0; i < SPAN; ++i) to[SPAN * item + i] = from[SPAN * item + i];",
            "whole: load global from float2: 0, not 1",
        ),
        Mutant(
            "loads four of a row at once",
            ("Figure 3b",),
            "microbench/row.cl",
            "for (long i = 0; i < width; ++i) sum += own[i];",
            "for (long i = 0; i < width; i += 4) { float4 v = vload4(0, own + i); sum += v.x + v.y + v.z + v.w; }",
            "loop: load global from float4: 1, not 0",
        ),
        Mutant(
            "reads its row from global memory, though staged",
            ("Figure 3b, fixed",),
            "microbench/row_tile.cl",
            "sum += tile[item][i];",
            "sum += item < rows && left + i < width ? from[(origin + item) * width + left + i] : (REAL)0;",
            "loop: load local tile float: 0, not 32",
        ),
        Mutant(
            "loads three neighbours at once",
            ("Figure 3c",),
            "microbench/shared.cl",
            "const REAL a_0 = from[at + DELTA], a_1 = from[at], a_2 = from[at - DELTA];",
            "const float3 a = vload3(0, from + at - 1); const REAL a_0 = a.z, a_1 = a.y, a_2 = a.x;",
            "whole: load global from float3: ",
        ),
        Mutant(
            "reads one of three from global memory",
            ("Figure 3c, fixed",),
            "microbench/shared_tile.cl",
            "+ tile[item + 16] +",
            "+ corner[item + 16] +",
            "whole: load global from float: 3, not 2",
        ),
        Mutant(
            "reads each element twice",
            ("Figure 5",),
            "microbench/copy2d.cl",
            "from[y * width + x]",
            "from[y * width + x] + 0 * from[y * width]",
            "loop: load global from float: 2, not 1",
        ),
        Mutant(
            "multiplies the difference by itself",
            ("Figure 8",),
            "microbench/cache_reuse.cl",
            "temp += SQUARE(a - b);",
            "temp += (a - b) * (a - b);",
            "loop: pow float: 0, not 1",
        ),
        Mutant(
            "reads from global memory",
            ("Figure 13, constant",),
            "microbench/constant.cl",
            '#include "microbench/include/reread.cl"',
            '#include "microbench/include/reread.cl"\n#define constant global const',
            "loop: load constant from float4: 0, not 8",
        ),
        Mutant(
            "reads from global memory, though staged",
            ("Figure 13, local",),
            "microbench/local.cl",
            "held[a] = block[at + a];",
            "held[a] = LOAD_ELEMENT(from, (at + a) % (uint)count);",
            "loop: load local block float4: 0, not 8",
        ),
        Mutant(
            "reads each pixel twice",
            ("Figure 13, image",),
            "microbench/image2d.cl",
            "held[a] = PIXEL(",
            "held[a] = 0 * PIXEL(read_imagef(from, pixels, (float2)(x, y))) + PIXEL(",
            "loop: image from: 16, not 8",
        ),
    ),
)
