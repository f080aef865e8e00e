"""Kernels with one fault each, for `tools/mutants.py`: what a study must find wrong.

The first fifteen are faults that only some sizes or a close look show; the others are slips in the kernels of all
workloads but the microbenchmarks.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One replacement: ``old`` stands once in ``kernels/<file>``. ``study`` is what follows `gpuopt study`."""

    name: str
    file: str
    old: str
    new: str
    study: str


GEMM, SPMV, TMV, GEM = "gemm 96 -v", "spmv 64x40 -v", "tmv 256 -v", "gem 200x300 -v"
SALTY = "gem 200x300 --salt 0.1 -v"
CUBE, ARC = "tomography 16x4x24x32 -v", "tomography I2:2 -v"
FORWARD, ADJOINT = "tomography 16x4x24x32 --operation forward -v", "tomography 16x4x24x32 --operation adjoint -v"

PLANTED = (
    Mutant(
        "rows % 64 == 7",
        "spmv/basic.cl",
        "DIA_STORE(row, accumulator);",
        "DIA_STORE(row, rows % 64 == 7 ? 2 * accumulator : accumulator);",
        f"{SPMV} basic",
    ),
    Mutant("K > 1000", "gemm/naive.cl", "STORE(m, n, sum);", "STORE(m, n, K > 1000 ? sum + 1 : sum);", f"{GEMM} naive"),
    Mutant(
        "past the end at 48 x 48",
        "gemm/tile.cl",
        "if (first_m + y < M",
        "if (M == 48 && N == 48 && first_m + y + first_n + x == 0) D[48 * ldd] = 1;\n    if (first_m + y < M",
        f"{GEMM} tile",
    ),
    Mutant(
        "an error of 1e-6",
        "tmv/include/columns.cl",
        "if (col < cols) y[col] = sum;",
        "if (col < cols) y[col] = sum * (REAL)1.000001;",
        f"{TMV} naive",
    ),
    Mutant(
        "8 kB past the end",
        "tmv/row_blocks.cl",
        "for (; j < inside; ++j) to[j] = sums[j];",
        "for (; j < inside; ++j) to[j] = sums[j];\n"
        "    if (get_group_id(0) == 0 && get_num_groups(1) == 1) y[cols + 2048] = 1;",
        f"{TMV} row_blocks",
    ),
    Mutant(
        "the forward projector, 1 %",
        "tomography/include/joseph_forward.cl",
        "+ sum[r] * between_planes",
        "+ 1.01f * sum[r] * between_planes",
        f"{FORWARD} joseph",
    ),
    Mutant(
        "the adjoint, 1 %",
        "tomography/joseph_gather.cl",
        "+ lower[first + i][a] + handed",
        "+ 0.99f * lower[first + i][a] + handed",
        f"{ADJOINT} joseph_gather",
    ),
    Mutant(
        "the adjoint of any scan at nx % 8 == 7",
        "tomography/joseph_gather_any.cl",
        "(accumulate ? *voxel : 0) + sum",
        "(accumulate ? *voxel : 0) + (nx % 8 == 7 ? 2 * sum : sum)",
        f"{ADJOINT} joseph_gather_any",
    ),
    Mutant(
        "the adjoint in a plane takes rays of the next part",
        "tomography/joseph_planes.cl",
        "(FLOATS)(ACROSS + 1))",
        "(FLOATS)(ACROSS))",
        "tomography slice --operation adjoint -v joseph_planes",
    ),
    Mutant(
        "an error of 1e-6 of a product",
        "gemm/packed.cl",
        "#define FIRST(type, c, d, sum) (alpha * (sum))",
        "#define FIRST(type, c, d, sum) (alpha * (sum) * (type)((REAL)1.000001))",
        f"{GEMM} packed",
    ),
    Mutant(
        "an error of 1e-6 of a potential",
        "gem/wide.cl",
        "minimal_potential(lanes[lane],",
        "(REAL)1.000001 * minimal_potential(lanes[lane],",
        f"{GEM} wide",
    ),
    Mutant(
        "an error of 1e-6 of a back projection",
        "tomography/naive.cl",
        "(accumulate ? *voxel : 0) + sum",
        "(accumulate ? *voxel : 0) + 1.000001f * sum",
        f"{ARC} paper:naive",
    ),
    Mutant(
        "an error of 1e-6 of a sparse product",
        "spmv/sliced.cl",
        "DIA_BLOCK((INDEX)(slice * SLICE)",
        "\n#define alpha (alpha * (REAL)1.000001)\n    DIA_BLOCK((INDEX)(slice * SLICE)",
        f"{SPMV} sliced",
    ),
    Mutant(
        "more than 1000 atoms",
        "gem/tiled.cl",
        "to = min(from + tiles_a_part * TILE, natoms)",
        "to = min(from + tiles_a_part * TILE, natoms > 1000 ? natoms - TILE : natoms)",
        f"{GEM} tiled",
    ),
    Mutant(
        "more than 1000 rows of 71 columns",
        "tmv/row_parts.cl",
        "last = min(first + part_rows, rows);",
        "last = min(first + part_rows, rows > 1000 && cols < 128 ? rows - 1 : rows);",
        f"{TMV} row_parts",
    ),
    Mutant(
        "before the beginning",
        "spmv/padded.cl",
        "if (row + r < rows) DIA_STORE(row + r, sum[r]);",
        "{\n            if (row + r < rows) DIA_STORE(row + r, sum[r]);\n"
        "            if (row + r == 0) y[-1] = 0;\n        }",
        f"{SPMV} padded",
    ),
)

SLIPS = (
    # spmv
    Mutant("a bound of x", "spmv/aligned.cl", "col < cols)", "col < cols - 1)", f"{SPMV} aligned"),
    Mutant("the first column", "spmv/local_offsets.cl", "col >= 0 &&", "col > 0 &&", f"{SPMV} local_offsets"),
    Mutant(
        "the third of the last rows",
        "spmv/include/four_rows.cl",
        "if (row + 2 < rows) DIA_STORE(row + 2, sum.z);",
        "if (row + 3 < rows) DIA_STORE(row + 2, sum.z);",
        f"{SPMV} vectorized",
    ),
    Mutant(
        "a quad beyond the last row",
        "spmv/include/four_rows.cl",
        "if (row + 3 < rows) {",
        "if (row + 2 < rows) {",
        f"{SPMV} coarse",
    ),
    Mutant(
        "the rest of the unrolled diagonals",
        "spmv/include/rows.cl",
        "for (; k < diags; ++k) {\n        sum = fma",
        "for (; k < diags - (diags < 8); ++k) {\n        sum = fma",
        f"{SPMV} interior",
    ),
    Mutant(
        "the rim", "spmv/banded.cl", "if (col >= 0 && col < cols)", "if (col >= 0 && col < rows - 3)", f"{SPMV} banded"
    ),
    Mutant(
        "the last block",
        "spmv/row_blocks.cl",
        "const long blocks = ((long)rows + BLOCK - 1) / BLOCK;",
        "const long blocks = ((long)rows + BLOCK - 1 - 7 * (rows % BLOCK == 7)) / BLOCK;",
        f"{SPMV} 'row_blocks(BLOCK=64)'",
    ),
    Mutant("a mirrored entry", "spmv/symmetric.cl", "i - o >= 0)", "i - o > 0)", f"{SPMV} symmetric"),
    Mutant(
        "the last of a slice's rows",
        "spmv/symmetric_sliced.cl",
        "for (; i < count; ++i) y[i] = fma(LOAD_VALUE(a + i), x[i], y[i]);",
        "for (; i < count - (count % 16 == 7); ++i) y[i] = fma(LOAD_VALUE(a + i), x[i], y[i]);",
        f"{SPMV} symmetric_sliced",
    ),
    Mutant(
        "a tile's margin",
        "spmv/tiles.cl",
        "* grid + left + i - MARGIN;",
        "* grid + left + i - MARGIN - (grid % 16 == 1 && i == MARGIN);",
        f"{SPMV} tiles",
    ),
    # gemm
    Mutant(
        "the rest of k",
        "gemm/unrolled.cl",
        "for (; i0 > 0; --i0) {",
        "for (; i0 > 0 && K % 64 != 7; --i0) {",
        f"{GEMM} unrolled",
    ),
    Mutant(
        "the third column of the last",
        "gemm/include/four_columns.cl",
        "if (n + 2 < N) STORE(m + i, n + 2, sum[i].z);",
        "if (n + 3 < N) STORE(m + i, n + 2, sum[i].z);",
        f"{GEMM} vectorized",
    ),
    Mutant(
        "the rest of k in fours",
        "gemm/include/four_columns.cl",
        "for (int k = K - left; k < K; ++k) {",
        "for (int k = K - left; k < K - 2; ++k) {",
        f"{GEMM} multiple_output",
    ),
    Mutant(
        "the last row of tiles",
        "gemm/register_tile.cl",
        "if (m >= M) continue;",
        "if (m >= M || m == 70) continue;",
        f"{GEMM} register_tile",
    ),
    Mutant("the last panel of A", "gemm/passes/pack_a.cl", "m + i < M ?", "m + i < M - 1 ?", f"{GEMM} packed"),
    Mutant(
        "the last columns of B",
        "gemm/packed.cl",
        "i < columns ? B_AT(k0 + k, n + i) : 0",
        "i < columns - (columns == 7) ? B_AT(k0 + k, n + i) : 0",
        f"{GEMM} packed",
    ),
    Mutant("the last step", "gemm/reduced.cl", "left > 0; --left", "left > (K == 3); --left", f"{GEMM} reduced"),
    Mutant(
        "a panel's third row",
        "gemm/constant.cl",
        "if (m + 4 * i + 2 < M)",
        "if (m + 4 * i + 3 < M)",
        f"{GEMM} constant",
    ),
    # tmv
    Mutant(
        "a column less",
        "tmv/include/columns.cl",
        "if (col + 1 < cols) y[col + 1]",
        "if (col + 2 < cols) y[col + 1]",
        f"{TMV} f2",
    ),
    Mutant(
        "a barrier's partner", "tmv/include/shared_columns.cl", "i < LOCAL_Y; ++i", "i < LOCAL_Y - 1; ++i", f"{TMV} tlp"
    ),
    Mutant(
        "the rest of the rows",
        "tmv/row_blocks.cl",
        "if (r < count) ADD_ROWS(1)",
        "if (r < count - 1) ADD_ROWS(1)",
        f"{TMV} row_blocks",
    ),
    Mutant(
        "the first staged element",
        "tmv/include/columns.cl",
        "if (tid_x < left)",
        "if (tid_x < left - (left < 8))",
        f"{TMV} tlp_f2",
    ),
    # gem
    Mutant(
        "atoms beyond a block",
        "gem/wide.cl",
        "i < min(block + BLOCK, natoms)",
        "i < min(block + BLOCK, natoms - (natoms > BLOCK))",
        f"{GEM} wide",
    ),
    Mutant(
        "the last vertex",
        "gem/tiled.cl",
        "if (at >= count) continue;",
        "if (at >= count - (count % 64 == 7)) continue;",
        f"{GEM} tiled",
    ),
    Mutant(
        "a root's sign",
        "gem/include/literal.cl",
        "ex * ex + ey * ey + ez * ez",
        "ex * ex + ey * ey - ez * ez",
        f"{SALTY} pairs",
    ),
    Mutant(
        "a part of the atoms",
        "gem/passes/finish.cl",
        "part < parts; ++part",
        "part < parts - 1; ++part",
        f"{GEM} 'tiled(PARTS=2)'",
    ),
    Mutant(
        "salt forgotten",
        "gem/include/minimal.cl",
        "fma((REALV)(model[KAPPA]), away, (REALV)(1))",
        "(REALV)(1)",
        f"{SALTY} wide",
    ),
    # back projection
    Mutant(
        "the last voxels of a row",
        "tomography/include/taps.cl",
        "lane < nx - x; ++lane",
        "lane < nx - x - 1; ++lane",
        f"{CUBE} buffer_vectors",
    ),
    Mutant(
        "a voxel more",
        "tomography/include/taps.cl",
        "if (z + k >= nz) continue;",
        "if (z + k > nz) continue;",
        f"{CUBE} buffer",
    ),
    Mutant(
        "the last slice",
        "tomography/columns.cl",
        "high = min(Z, nz - z);",
        "high = min(Z, nz - z - (nz == 7));",
        f"{CUBE} columns",
    ),
    Mutant("the detector's edge", "tomography/passes/pad.cl", "x <= columns &&", "x < columns &&", f"{CUBE} buffer"),
    Mutant(
        "the detector's last row",
        "tomography/passes/turn.cl",
        "v >= 0 && v < rows ?",
        "v >= 0 && v < rows - 1 ?",
        f"{CUBE} columns",
    ),
    Mutant(
        "a tap", "tomography/include/intrinsics.cl", "(1 - down) * upper", "(1 - right) * upper", f"{ARC} paper:alu"
    ),
    Mutant(
        "the last views of four",
        "tomography/vector_input.cl",
        "number < views);",
        "number < views - (views % 4 == 3));",
        f"{ARC} paper:vector_input",
    ),
    Mutant(
        "the last of four voxels",
        "tomography/vector_output.cl",
        "if (x + 4 <= nx)",
        "if (x + 3 <= nx)",
        f"{ARC} paper:vector_output",
    ),
    # projectors
    Mutant(
        "a copy's margin",
        "tomography/passes/joseph_copy.cl",
        "m >= 0 && m < middle;",
        "m > 0 && m < middle;",
        f"{FORWARD} joseph",
    ),
    Mutant(
        "the last row of rays",
        "tomography/passes/joseph_rays.cl",
        "n < count && row < rows;",
        "n < count && row < rows - 1;",
        f"{ADJOINT} joseph_gather",
    ),
    Mutant(
        "the last columns of rays",
        "tomography/joseph_gather_any.cl",
        "columns - 1.0f), -1.0f)) :",
        "columns - 2.0f), -1.0f)) :",
        f"{ADJOINT} joseph_gather_any",
    ),
    Mutant(
        "the last voxel",
        "tomography/joseph_gather.cl",
        "if (place == 0 || z >= nz ||",
        "if (place == 0 || z >= nz - (nz % 8 == 7) ||",
        f"{ADJOINT} joseph_gather",
    ),
)

MUTANTS = PLANTED + SLIPS
