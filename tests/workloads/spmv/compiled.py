"""Catanzaro 2010: the article's five listings, and the fourth on a CPU."""

from __future__ import annotations

from compiled.expectations import Expected, Mutant, Paper

ENTRY = {"load global val float": 1, "load global x float": 1, "fma float": 1}
FROM_GLOBAL, FROM_LOCAL = {"load global offsets int": 1}, {"load local l_offsets int": 1}
FOURS = {"load global val float4": 1, "load global x float4": 1, "load global x float": 4, "fma float4": 1}
PIXELS = {"load global val float4": 1, "image x": 7, "fma float4": 1}
NO_PRODUCT = {"mul int": 0, "mul long": 0}
STAGED = {"barrier": 1, "load global offsets int": 1, "store local l_offsets int": 1}
IN_FOURS = STAGED | {"load global val float": 0, "store global y float4": 1}
VECTORIZED = Expected(
    "Fourth listing: vload4 of A; vload4 of x where it is inside, else four tested loads; vstore4.",
    FOURS | FROM_LOCAL | NO_PRODUCT,
    "load global val",
    IN_FOURS,
)

PAPER = Paper(
    "spmv",
    "torn-grid float32",
    {
        "paper:basic": Expected(
            "First listing: offset, entry at diag*rows + row, and x are loads from global memory.",
            ENTRY | FROM_GLOBAL | {"mul long": 1},
            "load global val",
            {"barrier": 0, "store global y float": 1},
        ),
        "paper:aligned": Expected(
            "Second listing: the same loads by a running pointer.",
            ENTRY | FROM_GLOBAL | NO_PRODUCT,
            "load global val",
            {"barrier": 0, "store global y float": 1},
        ),
        "paper:local_offsets": Expected(
            "Third listing: the offset from local memory, filled once, before one barrier.",
            ENTRY | FROM_LOCAL | NO_PRODUCT,
            "load global val",
            STAGED | {"store global y float": 1},
        ),
        "paper:vectorized": VECTORIZED,
        "paper:cpu": VECTORIZED,
        "paper:image": Expected(
            "Fifth listing: x from an image alone, one read where aligned and two in each of the three other cases.",
            PIXELS | FROM_LOCAL | NO_PRODUCT,
            "load global val",
            IN_FOURS,
        ),
        "paper:cpu_coarse": Expected(
            "The conclusion: parallelism as a CPU has it; no listing. Here the fourth kernel, many rows a work-item.",
            FOURS | FROM_GLOBAL | NO_PRODUCT,
            "load global val",
            {"barrier": 0, "group 1x1x1": 1},
            compiled="A work-item has its group for itself, so that offsets are not staged in local memory.",
        ),
    },
    (
        Mutant(
            "has a running pointer already",
            ("paper:basic",),
            "spmv/basic.cl",
            "    REAL accumulator = 0;\n    for (int diag = 0; diag < diags; ++diag) {\n"
            "        const INDEX col = row + offsets[diag];\n"
            "        if (col >= 0 && col < cols) {\n"
            "            const REAL m = val[(PLACE)diag * (PLACE)rows + row];",
            "    REAL accumulator = 0;\n    global const REAL* entry = val + row - rows;\n"
            "    for (int diag = 0; diag < diags; ++diag) {\n"
            "        const INDEX col = row + offsets[diag];\n        entry += rows;\n"
            "        if (col >= 0 && col < cols) {\n            const REAL m = *entry;",
            "loop: mul long: 0, not 1",
        ),
        Mutant(
            "multiplies for each index all the same",
            ("paper:aligned",),
            "spmv/aligned.cl",
            "const REAL m = *matrix_offset;",
            "const REAL m = val[diag * pitch + row];",
            "loop: mul long: 1, not 0",
        ),
        *(
            Mutant(
                f"{step}: reads each offset from global memory",
                presets,
                f"spmv/{step}.cl",
                "l_offsets[diag]",
                "offsets[diag]",
                "loop: load global offsets int: 1, not 0",
            )
            for step, presets in {
                "local_offsets": ("paper:local_offsets",),
                "vectorized": ("paper:cpu",),
                "image": ("paper:image",),
            }.items()
        ),
        Mutant(
            "leaves out the barrier",
            ("paper:vectorized", "paper:image"),
            "spmv/include/staged_offsets.cl",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            "",
            "whole: barrier: 0, not 1",
            right=False,
        ),
        Mutant(
            "waits at a barrier too many",
            ("paper:local_offsets",),
            "spmv/include/staged_offsets.cl",
            "barrier(CLK_LOCAL_MEM_FENCE);",
            "barrier(CLK_LOCAL_MEM_FENCE); barrier(CLK_LOCAL_MEM_FENCE);",
            "whole: barrier: 2, not 1",
        ),
        Mutant(
            "reads x by four scalar loads",
            ("paper:vectorized", "paper:cpu_coarse"),
            "spmv/include/four_rows.cl",
            "v = vload4(0, x + col);",
            "v = (REAL4)(x[col], x[col + 1], x[col + 2], x[col + 3]);",
            "loop: load global x float: 8, not 4",
        ),
        Mutant(
            "reads entries by four scalar loads",
            ("paper:vectorized",),
            "spmv/vectorized.cl",
            "vload4(0, matrix_offset)",
            "(REAL4)(matrix_offset[0], matrix_offset[1], matrix_offset[2], matrix_offset[3])",
            "loop: load global val float: 4, not 0",
        ),
        Mutant(
            "tests each of four entries, without the fast path",
            ("paper:vectorized",),
            "spmv/include/four_rows.cl",
            "if (col >= 0 && col < cols - 4) {",
            "if (false) {",
            "loop: load global x float4: 0, not 1",
        ),
        Mutant(
            "reads two pixels where one has all",
            ("paper:image",),
            "spmv/image.cl",
            "v = PIXEL(rgbcol);",
            "v = PIXEL(rgbcol) + 0 * PIXEL(rgbcol + 1);",
            "loop: image x: 8, not 7",
        ),
    ),
)
