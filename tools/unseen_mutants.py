"""More kernels with one fault each, written without sight of `kernel_mutants.py`, for `tools/mutants.py`.

Of thirty, the first are those that every runtime shows, and not by chance: see docs/decisions/awkward-problems.md. Six
more read past an input.
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

UNSEEN = OTHER_INPUTS + OTHER_SIZES + PAST_INPUTS
