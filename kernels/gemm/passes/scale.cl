// The result where no product is added to it: beta C, or zeros.
#include "gemm/include/gemm.cl"

kernel void gemm_scale(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
#if ADDEND
    D_AT(m, n) = beta * C[(size_t)m * ldc + n];
#else
    D_AT(m, n) = 0;
#endif
}
