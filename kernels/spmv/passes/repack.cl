// Diagonals moved from one stored form to another: slices of from_slice positions to slices of to_slice rows, where entry k of row i
// stands at position i + shift*offset. Diagonal k comes from diagonal source[k] of from_diags. Every place of the new form is written;
// places outside the matrix become zero. 16-bit values are scaled by a power of two first.
#include "common/stored.cl"

#if HALF
#define STORE_VALUE(v, p) vstore_half(v, 0, p)
#else
#define STORE_VALUE(v, p) (*(p) = (v))
#endif

kernel void spmv_repack(global const REAL* restrict from, const long from_slice, const long width, const long shift, const int from_diags,
                        global VALUE* restrict to, const long to_slice, const long rows, const long cols, const int diags,
                        global const long* restrict offsets, global const int* restrict source, const REAL scale) {
    const long i = (long)get_global_id(0);
    const int k = (int)get_global_id(1);
    const long slices = (rows + to_slice - 1) / to_slice;
    if (i >= slices * to_slice) return;
    const long col = i + offsets[k], position = i + shift * offsets[k];
    REAL value = 0;
    if (i < rows && col >= 0 && col < cols && position >= 0 && position < width)
        value = from[position / from_slice * from_slice * from_diags + source[k] * from_slice + position % from_slice];
    STORE_VALUE(value * scale, to + i / to_slice * to_slice * diags + k * to_slice + i % to_slice);
}
