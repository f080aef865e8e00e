// The result of a product that was split along k: the sums of its K parts, which are the matrices of A, and beta C. What each addition
// rounds away is kept and added at the end: it costs nothing beside the reading.
#include "gemm/include/gemm.cl"

kernel void gemm_sum(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const int across = (N + 3) / 4, m = (int)(get_global_id(0) / across), n = (int)(get_global_id(0) % across) * 4;
    if (m >= M) return;
    A += m * lda + n;
    REAL4 sum = 0, lost = 0;
    for (int part = 0; part < K; ++part) {
        const REAL4 next = *(const global REAL4 *)(A + part * batch_a), both = sum + next, added = both - sum;
        lost += (sum - (both - added)) + (next - added);
        sum = both;
    }
    sum += isfinite(sum) ? lost : (REAL4)0;
    const REAL four[4] = {sum.x, sum.y, sum.z, sum.w};
    for (int i = 0; i < 4 && n + i < N; ++i)
#if ADDEND == 0
        D_AT(m, n + i) = four[i];
#elif ADDEND == 1
        D_AT(m, n + i) = fma(beta, C[(size_t)m * ldc + n + i], four[i]);
#else
        D_AT(m, n + i) += four[i];
#endif
}
