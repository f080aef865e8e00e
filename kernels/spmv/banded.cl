// The diagonals compiled in as bands of neighbours (BANDS: first offset, count): a band's count + ROWS - 1 elements of x are loaded
// once for ROWS rows a work-item, by aligned vectors, and no offset is read. Loses when few diagonals are neighbours. Rim as in interior.
#define WIDTH ROWS
#include "common/dia.cl"

// Elements that the first aligned vector of a window begins before it: row is a multiple of ROWS, a power of two.
#define AHEAD(offset) ((offset) & (ROWS - 1))
#define LOADS(offset, count) ((AHEAD(offset) + (count) + 2 * ROWS - 2) / ROWS)

#define BAND(offset, count, dx, dy)                                                                                            \
    {                                                                                                                          \
        REAL window[LOADS(offset, count) * ROWS], a[count * ROWS];                                                             \
        _Pragma("unroll") for (int j = 0; j < LOADS(offset, count); ++j)                                                       \
            VSTORE(*(global const REALV*)(x + (row + (offset) - AHEAD(offset) + j * ROWS)), window + j * ROWS);                \
        _Pragma("unroll") for (int d = 0; d < count; ++d) VSTORE(LOAD_ALIGNED(entry + d * STRIDE), a + d * ROWS);              \
        _Pragma("unroll") for (int d = 0; d < count; ++d)                                                                      \
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sum[r] = fma(a[d * ROWS + r], window[AHEAD(offset) + d + r], sum[r]); \
        entry += count * STRIDE;                                                                                               \
    }

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_banded(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0) * ROWS;
    const INDEX first = (INDEX)get_group_id(0) * (LOCAL * ROWS), end = first + LOCAL * ROWS;
    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    // An aligned window may begin and end up to ROWS - 1 elements beyond its own.
    if (end <= rows && first + FIRST_OFFSET >= ROWS && end + LAST_OFFSET + ROWS <= cols) {
        global const VALUE* entry = ENTRY(row);
        BANDS
#pragma unroll
        for (int r = 0; r < ROWS; ++r) DIA_STORE(row + r, sum[r]);
        return;
    }
    for (int r = 0; r < ROWS && row + r < rows; ++r) {
        global const VALUE* entry = ENTRY(row + r);
        for (int k = 0; k < diags; ++k) {
            const INDEX col = row + r + offsets[k];
            if (col >= 0 && col < cols) sum[r] = fma(LOAD_VALUE(entry + k * STRIDE), x[col], sum[r]);
        }
        DIA_STORE(row + r, sum[r]);
    }
}
