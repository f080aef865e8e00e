// Sums of rows by way of local memory: a work-group loads LOCAL rows x TILE columns with neighbouring work-items along the row, then
// each adds up its own row of the tile. The mend for row accesses, Yang 2012, V.A.2, of which no listing is printed: the tile's shape and
// its padding are ours. Costs two barriers a tile, loses on CPUs.
#include "microbench/include/microbench.cl"
#define ROWS_AT_ONCE (LOCAL / TILE)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_row_tile(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL tile[LOCAL][TILE + 1];  // one more: a column lies in as many banks as it has rows
    const int item = get_local_id(0), column = item % TILE, from_row = item / TILE;
    const long origin = (long)get_group_id(0) * LOCAL, rows = min((long)LOCAL, count / width - origin);
    REAL sum = 0;
    for (long left = 0; left < width; left += TILE) {
        global const REAL* corner = from + origin * width + left + column;
        const int inside = left + column < width;
#pragma unroll 8
        for (int row = 0; row < LOCAL; row += ROWS_AT_ONCE)
            tile[from_row + row][column] = inside && from_row + row < rows ? corner[(from_row + row) * width] : (REAL)0;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < TILE; ++i) sum += tile[item][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < rows) to[origin + item] = sum;
}
