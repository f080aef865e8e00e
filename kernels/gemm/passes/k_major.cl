// An operand with k from row to row, M = K rows of N elements that begin at multiples of 16 bytes, into D: from A, or from its transpose.
#include "gemm/include/gemm.cl"

kernel __attribute__((reqd_work_group_size(32, 8, 1))) void gemm_k_major(GEMM_ARGUMENTS) {
    GEMM_BATCH
    local REAL tile[32][33];
    const int x = get_local_id(0), y = get_local_id(1), across = (N + 31) / 32;
    const int n0 = (int)get_group_id(0) % across * 32, m0 = (int)get_group_id(0) / across * 32;
#if TRANSPOSE_A
    for (int row = y; row < 32; row += 8)
        if (n0 + row < N && m0 + x < M) tile[row][x] = A_AT(m0 + x, n0 + row);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = y; row < 32; row += 8)
        if (m0 + row < M && n0 + x < N) D_AT(m0 + row, n0 + x) = tile[x][row];
#else
    for (int row = y; row < 32; row += 8) tile[row][x] = m0 + row < M && n0 + x < N ? A_AT(m0 + row, n0 + x) : 0;
    for (int row = y; row < 32; row += 8)
        if (m0 + row < M && n0 + x < N) D_AT(m0 + row, n0 + x) = tile[row][x];
#endif
}
