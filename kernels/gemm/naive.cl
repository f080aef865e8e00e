// One element of the result a work-item: a load of A and one of B for each multiply-add. Jang 2009, the first row; with PAIRS=1 its
// Figure 5 (a).
#include "gemm/include/fetch.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_naive(GEMM_ARGUMENTS STREAMS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    REAL sum = 0;
#if PAIRS
    INDEX_PAIRS
#pragma unroll 1
    for (int i0 = K; i0 > 0; --i0) {
        sum = fma((REAL)FETCH_A(index_a.x, index_a.y), (REAL)FETCH_B(index_b.x, index_b.y), sum);
        index_a += step_a;
        index_b += step_b;
    }
#else
#pragma unroll 1
    for (int k = 0; k < K; ++k) sum = fma((REAL)FETCH_A(k, m + FIRST_ROW), (REAL)FETCH_B(n, k), sum);
#endif
    STORE(m, n, sum);
}
