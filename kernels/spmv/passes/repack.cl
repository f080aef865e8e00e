// Diagonals moved from one stored form to another: slices of from_slice positions to slices of to_slice positions, where entry k of row i
// stands at position i + shift*offset, or i + to_shift*offset. Diagonal k comes from diagonal source[k] of from_diags. Every place of the
// new form is written; places outside the matrix become zero. 16-bit values are scaled by a power of two first. ONE_SLICE=1: what is read is one slice.
#include "spmv/include/many.cl"
#include "spmv/include/stored.cl"
#ifndef ONE_SLICE
#define ONE_SLICE 0
#endif

#if HALF
#define STORE_VALUE(v, p) vstore_half(v, 0, p)
#else
#define STORE_VALUE(v, p) (*(p) = (v))
#endif
#if ONE_SLICE
#define PLACE(position, k) ((long)(k) * from_slice + (position))
#else
#define PLACE(position, k) ((position) / from_slice * from_slice * from_diags + (long)(k) * from_slice + (position) % from_slice)
#endif

// A scaled value as it is stored. Where the largest are near the end of REAL, those that 16 bits would round up to 2^15 would be infinite
// once scaled back: they become the largest number of 16 bits below.
inline REAL within_reach(const REAL value, const REAL scale) {
    if (!HALF || !isfinite(value) || isfinite(32768 / scale)) return value;
    return clamp(value, (REAL)-32752, (REAL)32752);
}

// Work-items: place within a slice, slice, diagonal.
kernel void spmv_repack(global const REAL* restrict from, const long from_slice, const long width, const long shift, const int from_diags,
                        global VALUE* restrict to, const long to_slice, const long to_shift, const long slices, const long rows, const long cols,
                        const int diags, global const long* restrict offsets, global const int* restrict source, const REAL scale) {
    const long within = (long)get_global_id(0);
    if (within >= to_slice) return;
    OF_ALL(int, k, 2, diags) OF_ALL(long, slice, 1, slices) {
        const long i = slice * to_slice + within - to_shift * offsets[k];
        const long col = i + offsets[k], position = i + shift * offsets[k];
        REAL value = 0;
        if (i >= 0 && i < rows && col >= 0 && col < cols && position >= 0 && position < width) value = from[PLACE(position, source[k])];
        STORE_VALUE(within_reach(value * scale, scale), to + (slice * diags + k) * to_slice + within);
    }
}
