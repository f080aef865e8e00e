"""More kernels with one fault each, written without sight of `kernel_mutants.py`, for `tools/mutants.py`.

Of thirty, the first are those that every runtime shows, and not by chance: see docs/decisions/awkward-problems.md. Six
more read past an input. Of another thirty, `OTHER_CALLS` are those that the small problems of that time did not show,
and `THIRD` the others that are in no table already.
"""

from __future__ import annotations

from kernel_mutants import ADJOINT, ARC, CUBE, FORWARD, GEM, GEMM, SPMV, TMV, Mutant

# What only inputs of another kind show than the study's own.
OTHER_INPUTS = (
    Mutant(
        "later columns read the first ones",
        "spmv/columns.cl",
        "global const REAL* vector = x + column;",
        "global const REAL* vector = x;",
        f"{SPMV} columns",
    ),
    Mutant(
        "a main diagonal taken for granted",
        "spmv/symmetric.cl",
        "const int diagonal = diags > 0 && offsets[0] == 0;",
        "const int diagonal = diags > 0;",
        f"{SPMV} symmetric",
    ),
    Mutant(
        "shift to the outer layer with the wrong sign",
        "gem/wide.cl",
        "ex = dx + sx[row], ey = dy + sy[row], ez = dz + sz[row]",
        "ex = dx - sx[row], ey = dy - sy[row], ez = dz - sz[row]",
        f"{GEM} wide",
    ),
    Mutant(
        "reaction with salt adds what it should take",
        "gem/include/minimal.cl",
        "fma((REALV)(-model[WITH_D]) * w, u, term)",
        "fma((REALV)(model[WITH_D]) * w, u, term)",
        f"{GEM} tiled",
    ),
    Mutant(
        "sums of parts go to the first vertices",
        "gem/passes/finish.cl",
        "phi[first + at] = ",
        "phi[at] = ",
        f"{GEM} tiled",
    ),
    Mutant(
        "height and width of a voxel mixed up",
        "tomography/naive.cl",
        "py = FIRST.y + y * CELL.y",
        "py = FIRST.y + y * CELL.x",
        f"{ARC} paper:naive",
    ),
    Mutant(
        "earlier launches lost",
        "tomography/include/taps.cl",
        "accumulate ? VLOAD(voxel + k * plane) : (REALV)(0)",
        "(REALV)(0)",
        f"{CUBE} buffer_vectors",
    ),
    Mutant(
        "tilted detectors see the lowest voxel of a column",
        "tomography/image.cl",
        "fx, fy, fz + k * LANES_Z, 0, middle",
        "fx, fy, fz, 0, middle",
        f"{CUBE} image",
    ),
    Mutant(
        "height of a voxel taken from its width",
        "tomography/include/joseph.cl",
        "along_c = c1 * cell.z",
        "along_c = c1 * cell.y",
        f"{FORWARD} joseph",
    ),
    Mutant(
        "box of a lying plane only by its diagonal",
        "tomography/joseph_gather_any.cl",
        "(MAIN == 1 ? 0 : MAIN == 0 ? db : dc)",
        "(MAIN == 1 ? 0 : db)",
        f"{ADJOINT} joseph_gather_any",
    ),
)

OTHER_SIZES = (
    Mutant(
        "an element before the tail twice",
        "spmv/include/blocks.cl",
        "        for (; i < last; ++i) result[i] = fma(",
        "        for (i = max((INDEX)0, i - 1); i < last; ++i) result[i] = fma(",
        f"{SPMV} sliced",
    ),
    Mutant(
        "rest of diagonals keeps the first entry",
        "spmv/include/rows.cl",
        "        sum = fma(LOAD_ALIGNED(entry), VLOAD(vector + offsets[k]), sum);\n        entry += stride;\n",
        "        sum = fma(LOAD_ALIGNED(entry), VLOAD(vector + offsets[k]), sum);\n",
        f"{SPMV} padded",
    ),
    Mutant(
        "rim forgets the row of several",
        "spmv/banded.cl",
        "const INDEX col = row + r + offsets[k];",
        "const INDEX col = row + offsets[k];",
        f"{SPMV} 'banded(ROWS=4)'",
    ),
    Mutant(
        "sums cleared too late",
        "spmv/symmetric_sliced.cl",
        "(long)row + SLICE + reach)",
        "(long)row + reach)",
        f"{SPMV} symmetric_sliced",
    ),
    Mutant(
        "a row past the last",
        "gemm/naive.cl",
        "if (m >= M || n >= N) return;",
        "if (m > M || n >= N) return;",
        f"{GEMM} naive",
    ),
    Mutant(
        "width of A taken from B",
        "gemm/tile.cl",
        "first_k + l < K ? A_AT",
        "first_k + l < N ? A_AT",
        f"{GEMM} tile",
    ),
    Mutant(
        "edge columns forget earlier parts of K",
        "gemm/packed.cl",
        "*to = k0 == 0 ? FIRST(REAL, c[i * step + j], *to, one) : NEXT(REAL, *to, one);",
        "*to = FIRST(REAL, c[i * step + j], *to, one);",
        f"{GEMM} packed",
    ),
    Mutant(
        "the rest of K from the first row",
        "gemm/include/four_columns.cl",
        "A_AT(min(m + i, M - 1L), k)",
        "A_AT(m, k)",
        f"{GEMM} multiple_output",
    ),
    Mutant(
        "last tile keeps atoms of the one before",
        "gem/pairs.cl",
        "live ? min(LOCAL, natoms - tile) : 0",
        "live ? LOCAL : 0",
        f"{GEM} 'pairs(ATOMS=1)'",
    ),
    Mutant(
        "each part counts tiles from 0",
        "gem/tiled.cl",
        "centres[tile / TILE]",
        "centres[(tile - from) / TILE]",
        f"{GEM} 'tiled(DISTANCE=2)'",
    ),
    Mutant(
        "a view as wide as high",
        "tomography/include/taps.cl",
        "bilinear(view, inside_u, inside_v, columns + 3)",
        "bilinear(view, inside_u, inside_v, rows + 3)",
        f"{CUBE} buffer",
    ),
    Mutant(
        "middle between pixels also where one is the middle",
        "tomography/columns.cl",
        "(float2)(0.5f * (columns - 1), 0.5f * (rows - 1))",
        "(float2)(columns / 2 - 0.5f, rows / 2 - 0.5f)",
        f"{CUBE} columns",
    ),
)

# Reads behind the last element of an input.
PAST_INPUTS = (
    Mutant("a diagonal more than there are", "spmv/basic.cl", "diag < diags;", "diag <= diags;", f"{SPMV} basic"),
    Mutant("one step too many along k", "gemm/naive.cl", "k < K;", "k <= K;", f"{GEMM} naive"),
    Mutant(
        "an atom more than there are",
        "gem/pairs.cl",
        "for (int i = 0; i < natoms;",
        "for (int i = 0; i <= natoms;",
        f"{GEM} pairs",
    ),
    Mutant(
        "the last vector reads past the last row, and its sums are not used",
        "tmv/row_blocks.cl",
        "max(min(last, rows - without), first)",
        "last",
        f"{TMV} row_blocks",
    ),
    Mutant("a view more than there are", "tomography/columns.cl", "i < count;", "i <= count;", f"{CUBE} columns"),
    Mutant(
        "a run of views more than there are",
        "tomography/joseph_gather_any.cl",
        "i < run_count;",
        "i <= run_count;",
        f"{ADJOINT} joseph_gather_any",
    ),
)

# What only other arguments or counts show: addends, batches, short data, whole charges, many views, wide planes.
OTHER_CALLS = (
    Mutant(
        "rows owed to the items below, and beyond them",
        "spmv/symmetric_sliced.cl",
        "const INDEX until = min(begin, end - o);",
        "const INDEX until = begin;",
        f"{SPMV} symmetric_sliced",
    ),
    Mutant(
        "a column more than is stored",
        "spmv/passes/repack.cl",
        "position < width) value",
        "position <= width) value",
        f"{SPMV} sliced",
    ),
    Mutant(
        "the addend of a batch by the step of the result",
        "gemm/include/gemm.cl",
        "C += from_c + (long)get_group_id(2) * batch_c;",
        "C += from_c + (long)get_group_id(2) * batch_d;",
        f"{GEMM} naive",
    ),
    Mutant(
        "the whole charge's term inside forgets the salt",
        "gem/include/minimal.cl",
        "-model[OUTSIDE] * (1 / model[SIZE] - model[KAPPA] / edge) + model[IMAGE]",
        "-model[OUTSIDE] / model[SIZE] + model[IMAGE]",
        f"{GEM} tiled",
    ),
    Mutant(
        "all vertices of a work-item as high as the first",
        "gem/tiled.cl",
        "DEPTH_AT(i, j), height[v], model)",
        "DEPTH_AT(i, j), height[0], model)",
        f"{GEM} tiled",
    ),
    Mutant(
        "the rest of a row forgets earlier launches",
        "tomography/include/taps.cl",
        "voxel[k * plane + lane] = (accumulate ? voxel[k * plane + lane] : 0) + lanes[lane];",
        "voxel[k * plane + lane] = lanes[lane];",
        f"{CUBE} buffer_vectors",
    ),
    Mutant(
        "the first runs of views again and again",
        "tomography/joseph_gather.cl",
        "runs[first_run + number + item];",
        "runs[first_run + item];",
        f"{ADJOINT} joseph_gather",
    ),
    Mutant(
        "every strip of a plane written to the first",
        "tomography/joseph_planes.cl",
        "f + (first_b + i) * step_b + first_a * step_a;",
        "f + i * step_b + first_a * step_a;",
        "tomography slice --operation adjoint -v joseph_planes",
    ),
)

# Slips of all kinds.
THIRD = (
    Mutant(
        "the rim reaches a column too far",
        "spmv/include/blocks.cl",
        "last = min(count, cols - col);",
        "last = min(count, (INDEX)(cols + 1) - col);",
        f"{SPMV} sliced",
    ),
    Mutant(
        "sums of columns left over go on from one to the next",
        "spmv/columns_sliced.cl",
        "            for (; column < vectors; ++column) {\n                REAL sum = 0;",
        "            REAL sum = 0;\n            for (; column < vectors; ++column) {",
        f"{SPMV} columns_sliced",
    ),
    Mutant(
        "four of x where two are left",
        "spmv/include/four_rows.cl",
        "if (col >= 0 && col < cols - 4) {",
        "if (col >= 0 && col < cols - 2) {",
        f"{SPMV} vectorized",
    ),
    Mutant(
        "a transposed tile turned by its other edge",
        "gemm/tile.cl",
        "l = TRANSPOSE_A ? lane / Y : x;",
        "l = TRANSPOSE_A ? lane / X : x;",
        f"{GEMM} 'tile(Y=8)'",
    ),
    Mutant(
        "rows behind A for the rest of K",
        "gemm/include/four_columns.cl",
        "fma((REAL4)(A_AT(min(m + i, M - 1L), k)), b, sum[i]);",
        "fma((REAL4)(A_AT(m + i, k)), b, sum[i]);",
        f"{GEMM} multiple_output",
    ),
    Mutant(
        "an operand through float",
        "gemm/reduced.cl",
        "const REAL of_a = FETCH_A(index.z, index.w), of_b",
        "const REAL of_a = (float)FETCH_A(index.z, index.w), of_b",
        f"{GEMM} reduced --dtype float64",
    ),
    Mutant(
        "a column behind the last of an odd number",
        "tmv/include/columns.cl",
        "if (col + 1 < cols) y[col + 1] = sum.y;",
        "if (col < cols) y[col + 1] = sum.y;",
        f"{TMV} f2",
    ),
    Mutant(
        "a Newton step too few",
        "gem/include/rsqrt.cl",
        "step < 4; ++step)",
        "step < 3; ++step)",
        f"{GEM} wide --dtype float64",
    ),
    Mutant(
        "pixels blended one too few",
        "tomography/columns.cl",
        "needed = (int)floor(top) - lowest + 2;",
        "needed = (int)floor(top) - lowest + 1;",
        f"{CUBE} columns",
    ),
    Mutant(
        "the last of an odd number of planes",
        "tomography/include/joseph_forward.cl",
        "const float2 all = (float2)(-half_a, na - 1 - half_a);",
        "const float2 all = (float2)(-half_a, half_a - 1);",
        f"{FORWARD} joseph",
    ),
    Mutant(
        "the moment of rows beyond a trip",
        "tomography/joseph_gather.cl",
        "moment = fma((float)r, ray[r], moment);\n    }\n    *high",
        "moment = fma((float)ROWS, ray[r], moment);\n    }\n    *high",
        f"{ADJOINT} joseph_gather",
    ),
    Mutant(
        "rays along another axis counted too",
        "tomography/joseph_gather_any.cl",
        "                if (main_axis(direction) != MAIN) continue;\n",
        "",
        f"{ADJOINT} joseph_gather_any",
    ),
    Mutant(
        "views behind the last of a stream",
        "tomography/vector_input.cl",
        "select((float4)(0), (float4)(ARC_WEIGHT(square, w)), number < views);",
        "(float4)(ARC_WEIGHT(square, w));",
        f"{ARC} vector_input",
    ),
)

UNSEEN = OTHER_INPUTS + OTHER_SIZES + PAST_INPUTS + OTHER_CALLS + THIRD
