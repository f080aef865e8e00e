// For A = A^T only its upper diagonals are stored: entry o of row i serves row i and, read a second time at i - o, row i + o. Half the bytes
// from memory; the second read is meant to hit a cache, which tiles of a grid (TILE_X x TILE_Y*ROWS work-items) make likely.
#include "spmv/include/dia.cl"

#define BOTH_SIDES(k)                                                                                                   \
    {                                                                                                                   \
        const INDEX o = offsets[k];                                                                                     \
        _Pragma("unroll") for (int r = 0; r < ROWS; ++r) {                                                              \
            const INDEX i = row + r * step;                                                                             \
            sum[r] = fma(LOAD_VALUE(ENTRY(i) + (k) * STRIDE), vector[r * step + o], sum[r]);                            \
            sum[r] = fma(LOAD_VALUE(ENTRY(i - o) + (k) * STRIDE), vector[r * step - o], sum[r]);                        \
        }                                                                                                               \
    }

kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void spmv_symmetric(DIA_ARGUMENTS) {
    const INDEX left = (INDEX)get_group_id(0) * TILE_X, top = TILE_DOWN * (TILE_Y * ROWS);
    const INDEX across = left + (INDEX)get_local_id(0);
    if (across >= grid) return;
    const INDEX row = (top + (INDEX)get_local_id(1)) * grid + across, step = TILE_Y * grid;
    const INDEX first = top * grid + left, end = first + (TILE_Y * ROWS - 1) * grid + TILE_X;
    const INDEX reach = diags > 0 ? offsets[diags - 1] : 0;
    const int diagonal = diags > 0 && offsets[0] == 0;  // it counts once
    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    if (end <= rows && first - reach >= 0 && end + reach <= rows) {
        global const REAL* vector = x + row;
        if (diagonal) {
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sum[r] = LOAD_VALUE(ENTRY(row + r * step)) * vector[r * step];
        }
        int k = diagonal;
        for (; k + UNROLL <= diags; k += UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) BOTH_SIDES(k + u)
        }
        for (; k < diags; ++k) BOTH_SIDES(k)
    } else {
        for (int r = 0; r < ROWS; ++r) {
            const INDEX i = row + r * step;
            for (int k = 0; k < diags && i < rows; ++k) {
                const INDEX o = offsets[k];
                if (i + o < rows) sum[r] = fma(LOAD_VALUE(ENTRY(i) + k * STRIDE), x[i + o], sum[r]);
                if (o > 0 && i - o >= 0) sum[r] = fma(LOAD_VALUE(ENTRY(i - o) + k * STRIDE), x[i - o], sum[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r * step < rows) DIA_STORE(row + r * step, sum[r]);
}
