// The diagonals compiled in as bands of neighbours (BANDS: first offset, count): a band's count + ROWS - 1 elements of x are loaded
// once for ROWS rows a work-item, by aligned vectors, and no offset is read. Loses when few diagonals are neighbours. Rim as in interior.
#define WIDTH ROWS
#include "spmv/include/bands.cl"

#define BAND(offset, count, dx, dy)                                        \
    ADD_BAND(sum, entry, global, x + row + (offset), offset, count) \
    entry += (count) * STRIDE;

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_banded(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0) * ROWS;
    const INDEX first = (INDEX)get_group_id(0) * (LOCAL * ROWS), end = first + LOCAL * ROWS;
    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    // An aligned window may begin and end up to QUAD - 1 elements beyond its own.
    if (end <= rows && first + FIRST_OFFSET >= QUAD && end + LAST_OFFSET + QUAD <= cols) {
        global const VALUE* entry = ENTRY(row);
        BANDS
        DIA_STORE_ALIGNED(row, sum)
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
