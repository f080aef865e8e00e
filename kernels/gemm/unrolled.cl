// UNROLL steps of the sum at once, their loads before their multiply-adds: fewer branches and more loads in flight for more registers;
// a load of A and one of B for each multiply-add all the same. Jang 2009, rows 3 to 5.
#include "gemm/include/gemm.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_unrolled(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
    global const REAL *a = &A_AT(m, 0), *b = &B_AT(0, n);
    REAL sum = 0;
    int left = K;
    for (; left >= UNROLL; left -= UNROLL) {
        REAL of_a[UNROLL], of_b[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            of_a[i] = a[i * A_STEP];
            of_b[i] = b[i * B_STEP];
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) sum = fma(of_a[i], of_b[i], sum);
        a += UNROLL * A_STEP;
        b += UNROLL * B_STEP;
    }
    for (; left > 0; --left) {
        sum = fma(*a, *b, sum);
        a += A_STEP;
        b += B_STEP;
    }
    STORE(m, n, sum);
}
