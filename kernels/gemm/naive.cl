// One element of the result a work-item: a load of A and one of B for each multiply-add. Jang 2009, the first row.
#include "gemm/include/fetch.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_naive(GEMM_ARGUMENTS STREAMS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    REAL sum = 0;
    for (int k = 0; k < K; ++k) sum = fma((REAL)FETCH_A(k, m + FIRST_ROW), (REAL)FETCH_B(n, k), sum);
    STORE(m, n, sum);
}
