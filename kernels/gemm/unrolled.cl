// The naive kernel with UNROLL steps of the sum at once, their loads before their multiply-adds: fewer branches and more loads in flight
// for more registers; a load of A and one of B for each multiply-add all the same. Jang 2009, 4.1.1.
#include "gemm/include/fetch.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_unrolled(GEMM_ARGUMENTS STREAMS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    REAL sum = 0;
    int k = 0;
    for (; k <= K - UNROLL; k += UNROLL) {
        REAL of_a[UNROLL], of_b[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            of_a[i] = FETCH_A(k + i, m + FIRST_ROW);
            of_b[i] = FETCH_B(n, k + i);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) sum = fma(of_a[i], of_b[i], sum);
    }
    for (; k < K; ++k) sum = fma((REAL)FETCH_A(k, m + FIRST_ROW), (REAL)FETCH_B(n, k), sum);
    STORE(m, n, sum);
}
