// Work-groups are tiles of the grid whose points the rows are: TILE_X*WIDE points across, TILE_Y*ROWS down. x of a tile and of the REACH
// around it is staged in local memory once, the bands are compiled in. Reads x from memory once or twice instead of once a band.
#define WIDTH WIDE
#include "spmv/include/bands.cl"

#define HEIGHT (TILE_Y * ROWS)
#define MARGIN ((REACH_X + QUAD - 1) / QUAD * QUAD)
#define ACROSS (TILE_X * WIDE + 2 * MARGIN)
#define DOWN (HEIGHT + 2 * REACH_Y)

#define BAND(offset, count, dx, dy)                                                                                           \
    _Pragma("unroll") for (int r = 0; r < ROWS; ++r) ADD_BAND(sum + r * WIDE, entry + r * TILE_Y * grid, local,               \
                                                              here + ((dy) + r * TILE_Y) * ACROSS + (dx), dx, count) entry += \
        (count) * STRIDE;

kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void spmv_tiles(DIA_ARGUMENTS) {
    local REAL tile[DOWN * ACROSS] __attribute__((aligned(32)));
    const int tx = (int)get_local_id(0), ty = (int)get_local_id(1);
    const INDEX left = (INDEX)get_group_id(0) * (TILE_X * WIDE), top = TILE_DOWN * HEIGHT;
    for (int j = ty; j < DOWN; j += TILE_Y)
        for (int i = tx; i < ACROSS; i += TILE_X) {
            const INDEX col = (top + j - REACH_Y) * grid + left + i - MARGIN;
            // Left and right of the grid x goes on with the line before and behind, as the diagonals do.
            tile[j * ACROSS + i] = col >= 0 && col < cols ? x[col] : 0;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (left + tx * WIDE >= grid) return;

    REAL sum[ROWS * WIDE];
#pragma unroll
    for (int i = 0; i < ROWS * WIDE; ++i) sum[i] = 0;
    const INDEX first = top * grid + left, end = first + (HEIGHT - 1) * grid + TILE_X * WIDE;  // behind the last row of the tile
    const INDEX row = (top + ty) * grid + left + tx * WIDE;
    if (end <= rows && first + FIRST_OFFSET >= 0 && end + LAST_OFFSET <= cols) {
        local const REAL* here = tile + (ty + REACH_Y) * ACROSS + tx * WIDE + MARGIN;
        global const VALUE* entry = val + row;
        BANDS
#pragma unroll
        for (int r = 0; r < ROWS; ++r) DIA_STORE_ALIGNED(row + r * TILE_Y * grid, sum + r * WIDE)
        return;
    }
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < WIDE; ++c) {
            const INDEX i = row + r * TILE_Y * grid + c;
            if (i >= rows) continue;
            REAL one = 0;
            for (int k = 0; k < diags; ++k) {
                const INDEX col = i + offsets[k];
                if (col >= 0 && col < cols) one = fma(LOAD_VALUE(val + k * pitch + i), x[col], one);
            }
            DIA_STORE(i, one);
        }
}
