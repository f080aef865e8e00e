// The naive kernel with its indices of A and B in one vector, which one addition moves on ("variable reduction"). Compilers for GPUs take
// such a vector apart; those for CPUs may not, and then work on one work-item at a time. Jang 2009, Figure 5 (b), in whole numbers.
#include "gemm/include/fetch.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_reduced(GEMM_ARGUMENTS STREAMS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    int4 index = (int4)((int)n, 0, 0, (int)m + FIRST_ROW);
    const int4 step = (int4)(0, 1, 1, 0);
    REAL sum = 0;
#pragma unroll 1
    for (int left = K; left > 0; --left) {
        const REAL of_a = FETCH_A(index.z, index.w), of_b = FETCH_B(index.x, index.y);
        sum = fma(of_a, of_b, sum);
        index += step;
    }
    STORE(m, n, sum);
}
