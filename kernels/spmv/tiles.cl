// Work-groups are TILE_X x TILE_Y*ROWS tiles of the grid whose points the rows are; x of a tile and of the REACH around it is staged in
// local memory once, the bands are compiled in. Reads x from memory once or twice instead of once a band; loses to a good L1.
#include "common/dia.cl"

#define HEIGHT (TILE_Y * ROWS)
#define ACROSS (TILE_X + 2 * REACH_X)
#define DOWN (HEIGHT + 2 * REACH_Y)

kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void spmv_tiles(DIA_ARGUMENTS) {
    local REAL tile[DOWN * ACROSS];
    const int tx = (int)get_local_id(0), ty = (int)get_local_id(1);
    const INDEX left = (INDEX)get_group_id(0) * TILE_X, top = (INDEX)get_group_id(1) * HEIGHT;
    for (int j = ty; j < DOWN; j += TILE_Y)
        for (int i = tx; i < ACROSS; i += TILE_X) {
            const INDEX col = (top + j - REACH_Y) * grid + left + i - REACH_X;
            // Left and right of the grid x goes on with the line before and behind, as the diagonals do.
            tile[j * ACROSS + i] = col >= 0 && col < cols ? x[col] : 0;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left + tx >= grid) return;

    REAL sum[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) sum[r] = 0;
    local const REAL* here = tile + (ty + REACH_Y) * ACROSS + tx + REACH_X;
    const INDEX first = top * grid + left, last = first + (HEIGHT - 1) * grid + TILE_X;  // behind the last row of the tile
    const INDEX row = (top + ty) * grid + left + tx;
    if (last <= rows && first + FIRST_OFFSET >= 0 && last + LAST_OFFSET <= cols) {
        global const VALUE* entry = val + row;
#define BAND(offset, count, dx, dy)                                                                                          \
    {                                                                                                                        \
        _Pragma("unroll") for (int d = 0; d < count; ++d)                                                                    \
            _Pragma("unroll") for (int r = 0; r < ROWS; ++r) sum[r] =                                                        \
                fma(LOAD_VALUE(entry + d * pitch + r * TILE_Y * grid), here[((dy) + r * TILE_Y) * ACROSS + (dx) + d], sum[r]); \
        entry += count * pitch;                                                                                              \
    }
        BANDS
    } else {
        for (int r = 0; r < ROWS; ++r) {
            const INDEX i = row + r * TILE_Y * grid;
            for (int k = 0; k < diags && i < rows; ++k) {
                const INDEX col = i + offsets[k];
                if (col >= 0 && col < cols) sum[r] = fma(LOAD_VALUE(val + k * pitch + i), x[col], sum[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const INDEX i = row + r * TILE_Y * grid;
        if (i < rows) DIA_STORE(i, sum[r]);
    }
}
