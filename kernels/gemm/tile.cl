// One element of the result a work-item; a group of X x Y stages tiles of A (Y x X) and of B (X x X) in local memory, so that an element
// of A is loaded once for X work-items and one of B for Y: 1/X + 1/Y loads for each multiply-add, and two of local memory. Yang 2012, B.2.
#define RESTRICT
#include "gemm/include/gemm.cl"

// Of a transposed matrix neighbouring work-items load what lies together, and write columns of the tile: one element of padding keeps
// these apart in the banks.
kernel __attribute__((reqd_work_group_size(X, Y, 1))) void gemm_tile(GEMM_ARGUMENTS) {
    GEMM_BATCH
    local REAL of_a[Y][X + TRANSPOSE_A], of_b[X][X + TRANSPOSE_B];
    const int x = get_local_id(0), y = get_local_id(1), lane = y * X + x;
    const long first_m = (long)get_group_id(1) * Y, first_n = (long)get_group_id(0) * X;
    REAL sum = 0;
    for (int first_k = 0; first_k < K; first_k += X) {
        const int i = TRANSPOSE_A ? lane % Y : y, l = TRANSPOSE_A ? lane / Y : x;
        of_a[i][l] = first_m + i < M && first_k + l < K ? A_AT(first_m + i, first_k + l) : 0;
#pragma unroll
        for (int row = 0; row < X; row += Y) {
            const int k = TRANSPOSE_B ? x : row + y, j = TRANSPOSE_B ? row + y : x;
            of_b[k][j] = first_k + k < K && first_n + j < N ? B_AT(first_k + k, first_n + j) : 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < X; ++k) sum = fma(of_a[y][k], of_b[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (first_m + y < M && first_n + x < N) STORE(first_m + y, first_n + x, sum);
}
