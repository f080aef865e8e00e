// The diagonals compiled in as bands of neighbours (BANDS: first offset, count): a band's count + ROWS - 1 elements of x are loaded
// once for ROWS rows a work-item, and no offset is read. Loses when few diagonals are neighbours. Rim groups as in interior.
#define WIDTH ROWS
#include "common/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_banded(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0) * ROWS;
    const INDEX first = (INDEX)get_group_id(0) * (LOCAL * ROWS), end = first + LOCAL * ROWS;
    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    global const VALUE* entry = val + row;
    if (end <= rows && first + FIRST_OFFSET >= 0 && end + LAST_OFFSET <= cols) {
#define BAND(offset, count, dx, dy)                                                                     \
    {                                                                                                   \
        REAL window[ROWS + count - 1], a[count * ROWS];                                                 \
        _Pragma("unroll") for (int j = 0; j < ROWS + count - 1; ++j) window[j] = x[row + (offset) + j];  \
        _Pragma("unroll") for (int d = 0; d < count; ++d) VSTORE(LOAD_VALUES(entry + d * pitch), a + d * ROWS); \
        _Pragma("unroll") for (int d = 0; d < count; ++d)                                               \
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sum[r] = fma(a[d * ROWS + r], window[d + r], sum[r]); \
        entry += count * pitch;                                                                         \
    }
        BANDS
#pragma unroll
        for (int r = 0; r < ROWS; ++r) DIA_STORE(row + r, sum[r]);
        return;
    }
    for (int r = 0; r < ROWS && row + r < rows; ++r) {
        for (int k = 0; k < diags; ++k) {
            const INDEX col = row + r + offsets[k];
            if (col >= 0 && col < cols) sum[r] = fma(LOAD_VALUE(entry + r + k * pitch), x[col], sum[r]);
        }
        DIA_STORE(row + r, sum[r]);
    }
}
