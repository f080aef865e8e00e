// Transposes by way of a square local tile as wide as the longer side of the work-group: loads and stores both run along rows. The mend
// for `transpose`; costs two barriers a tile and, for the wider groups, the local memory that would have held other groups.
#include "microbench/include/microbench.cl"
#define EDGE (LOCAL_X > LOCAL_Y ? LOCAL_X : LOCAL_Y)

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_transpose_tile(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL tile[EDGE][EDGE + 1];  // one more: a column lies in as many banks as it has rows
    const int x = get_local_id(0), y = get_local_id(1);
    const long left = (long)get_group_id(0) * EDGE, rows = count / width;
    for (long top = (long)get_group_id(1) * EDGE; top < rows; top += (long)get_num_groups(1) * EDGE) {
#pragma unroll 8
        for (int j = 0; j < EDGE; j += LOCAL_Y)
#pragma unroll 8
            for (int i = 0; i < EDGE; i += LOCAL_X)
                if (left + x + i < width && top + y + j < rows) tile[y + j][x + i] = from[(top + y + j) * width + left + x + i];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 8
        for (int j = 0; j < EDGE; j += LOCAL_Y)
#pragma unroll 8
            for (int i = 0; i < EDGE; i += LOCAL_X)
                if (top + x + i < rows && left + y + j < width) to[(left + y + j) * rows + top + x + i] = tile[x + i][y + j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
