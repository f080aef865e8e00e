// C = A B by tiles of uneven sides, Yang 2012, V.B.2, Fig. 6: each scalar of A's tile is used LOCAL_X times, of B's LOCAL_Y times.
// A is the source's first half, rows of `width`; B the second, `width` rows. One scalar of C a work-item: far from a good product.
// Zeros at the edges, unroll pragmas and 64-bit indices are ours.
#define RESTRICT
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_tiled(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL a_tile[LOCAL_Y][LOCAL_X], b_tile[LOCAL_X][LOCAL_X];
    const int x = get_local_id(0), y = get_local_id(1);
    const long edge = count / 2 / width, column = get_global_id(0), row = get_global_id(1);
    global const REAL *a = from, *b = from + edge * width;
    REAL sum = 0;
    for (long k = 0; k < width; k += LOCAL_X) {
        a_tile[y][x] = row < edge && k + x < width ? a[row * width + k + x] : (REAL)0;
#pragma unroll 8
        for (int j = 0; j < LOCAL_X; j += LOCAL_Y)
            if (y + j < LOCAL_X) b_tile[y + j][x] = k + y + j < width && column < edge ? b[(k + y + j) * edge + column] : (REAL)0;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 32
        for (int i = 0; i < LOCAL_X; ++i) sum += a_tile[y][i] * b_tile[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < edge && column < edge) to[row * edge + column] = sum;
}
