// Diagonals moved from one stored form to another: slices of from_slice positions to slices of to_slice rows, where entry k of row i
// stands at position i + shift*offset. Every place of the new form is written; places outside the matrix become zero.
#include "common/real.cl"

kernel void spmv_repack(global const REAL* restrict from, const long from_slice, const long width, const long shift,
                        global REAL* restrict to, const long to_slice, const long rows, const long cols, const int diags,
                        global const long* restrict offsets) {
    const long i = (long)get_global_id(0);
    const int k = (int)get_global_id(1);
    const long slices = (rows + to_slice - 1) / to_slice;
    if (i >= slices * to_slice) return;
    const long col = i + offsets[k], position = i + shift * offsets[k];
    REAL value = 0;
    if (i < rows && col >= 0 && col < cols && position >= 0 && position < width)
        value = from[position / from_slice * from_slice * diags + k * from_slice + position % from_slice];
    to[i / to_slice * to_slice * diags + k * to_slice + i % to_slice] = value;
}
