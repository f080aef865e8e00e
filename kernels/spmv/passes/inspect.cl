// What the values of a matrix are like, diagonal k of row i at position i + shift*offset, 0 where nothing is stored: is every entry equal to
// the one at its mirrored place (partner[k] is the diagonal of the opposite offset), and how large is the largest finite one.
#include "common/real.cl"
#include "spmv/include/many.cl"

inline REAL stored_value(global const REAL* values, const long slice, const long width, const int diags, const int k, const long position) {
    if (position < 0 || position >= width) return 0;
    return values[position / slice * slice * diags + k * slice + position % slice];
}

kernel void spmv_asymmetry(global const REAL* restrict values, const long slice, const long width, const long shift, const int diags,
                           const long rows, global const long* restrict offsets, global const int* restrict partner, global int* found) {
    const long i = (long)get_global_id(0);
    OF_ALL(int, k, 1, diags) {
        const long o = offsets[k];
        if (o >= 0 && i < rows && i + o < rows) {
            const REAL upper = stored_value(values, slice, width, diags, k, i + shift * o);
            const REAL lower = stored_value(values, slice, width, diags, partner[k], i + o - shift * o);
            if (upper != lower) *found = 1;  // all writers write the same; NaN equals nothing
        }
    }
}

// largest[k*get_global_size(0) + g] is the largest over the rows g, g + size, ...
kernel void spmv_magnitude(global const REAL* restrict values, const long slice, const long width, const long shift, const int diags,
                           const long rows, const long cols, global const long* restrict offsets, global REAL* largest) {
    OF_ALL(int, k, 1, diags) {
        const long o = offsets[k];
        REAL found = 0;
        for (long i = (long)get_global_id(0); i < rows; i += (long)get_global_size(0)) {
            if (i + o < 0 || i + o >= cols) continue;
            const REAL v = fabs(stored_value(values, slice, width, diags, k, i + shift * o));
            if (isfinite(v)) found = fmax(found, v);
        }
        largest[(long)k * (long)get_global_size(0) + (long)get_global_id(0)] = found;
    }
}
