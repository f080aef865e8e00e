// The naive kernel with two running pointers for its indices: an addition each instead of a multiplication a step ("variable
// reduction"). Compilers do this by themselves today. Jang 2009, the second row.
#include "gemm/include/gemm.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_reduced(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    global const REAL *a = &A_AT(m, 0), *b = &B_AT(0, n);
    REAL sum = 0;
    for (int left = K; left > 0; --left) {
        sum = fma(*a, *b, sum);
        a += A_STEP;
        b += B_STEP;
    }
    STORE(m, n, sum);
}
