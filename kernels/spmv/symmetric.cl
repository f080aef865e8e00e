// For A = A^T only its upper diagonals are stored: entry o of row i serves row i and, read a second time at i - o, row i + o. Half the bytes
// from memory; the second read is meant to hit a cache, which tiles of a grid (TILE_X x TILE_Y*ROWS work-items) make likely.
#include "common/dia.cl"

kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void spmv_symmetric(DIA_ARGUMENTS) {
    const INDEX left = (INDEX)get_group_id(0) * TILE_X, top = (INDEX)get_group_id(1) * (TILE_Y * ROWS);
    const INDEX across = left + (INDEX)get_local_id(0);
    if (across >= grid || diags == 0) return;
    const INDEX row = (top + (INDEX)get_local_id(1)) * grid + across, step = TILE_Y * grid;
    const INDEX first = top * grid + left, end = first + (TILE_Y * ROWS - 1) * grid + TILE_X, reach = offsets[diags - 1];
    const int diagonal = offsets[0] == 0;  // the main diagonal counts once
    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    if (end <= rows && first - reach >= 0 && end + reach <= rows) {
        global const VALUE* entry = val + row;
        global const REAL* vector = x + row;
        if (diagonal) {
#pragma unroll
            for (int r = 0; r < ROWS; ++r) sum[r] = LOAD_VALUE(entry + r * step) * vector[r * step];
            entry += pitch;
        }
        int k = diagonal;
#define BOTH_SIDES(k, r, e)                                                                          \
    {                                                                                                \
        const INDEX o = offsets[k];                                                                  \
        sum[r] = fma(LOAD_VALUE((e) + (r) * step), vector[(r) * step + o], sum[r]);                  \
        sum[r] = fma(LOAD_VALUE((e) + ((r) * step - o)), vector[(r) * step - o], sum[r]);            \
    }
        for (; k + UNROLL <= diags; k += UNROLL) {
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) BOTH_SIDES(k + u, r, entry + (long)u * pitch)
            entry += (long)UNROLL * pitch;
        }
        for (; k < diags; ++k) {
#pragma unroll
            for (int r = 0; r < ROWS; ++r) BOTH_SIDES(k, r, entry)
            entry += pitch;
        }
    } else {
        for (int r = 0; r < ROWS; ++r) {
            const INDEX i = row + r * step;
            for (int k = 0; k < diags && i < rows; ++k) {
                const INDEX o = offsets[k];
                global const VALUE* entry = val + (long)k * pitch + i;
                if (i + o < rows) sum[r] = fma(LOAD_VALUE(entry), x[i + o], sum[r]);
                if (o > 0 && i - o >= 0) sum[r] = fma(LOAD_VALUE(entry - o), x[i - o], sum[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r * step < rows) DIA_STORE(row + r * step, sum[r]);
}
