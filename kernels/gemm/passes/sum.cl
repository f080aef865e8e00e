// The result of a product that was split along k: the sums of its K parts, which are the matrices of A, and beta C. What each addition
// rounds away is kept and added at the end: it costs nothing beside the reading. DOWN work-items share the parts of a place where parts are
// many and places few.
#include "gemm/include/gemm.cl"
#ifndef DOWN
#define DOWN 8
#endif
#define ACROSS (256 / DOWN)

#define ADD(value)                                              \
    do {                                                        \
        const REAL4 next = value, both = sum + next, added = both - sum; \
        lost += (sum - (both - added)) + (next - added);        \
        sum = both;                                             \
    } while (0)

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void gemm_sum(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const int item = get_local_id(0), down = item / ACROSS, across = (N + 3) / 4;
    const long place = get_group_id(0) * (long)ACROSS + item % ACROSS;
    const int m = (int)(place / across), n = (int)(place % across) * 4;
    REAL4 sum = 0, lost = 0;
    if (m < M) {
        A += m * lda + n;
#pragma unroll 4
        for (int part = down; part < K; part += DOWN) ADD(*(const global REAL4 *)(A + part * batch_a));
    }
#if DOWN > 1
    local REAL4 sums[256], losses[256];
    sums[item] = sum;
    losses[item] = lost;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (down > 0) return;
    for (int other = 1; other < DOWN; ++other) {
        lost += losses[other * ACROSS + item];
        ADD(sums[other * ACROSS + item]);
    }
#endif
    if (m >= M) return;
    // Where sums overflow, what was lost is no number.
    const REAL4 whole = sum + lost;
    sum.x = isfinite(sum.x) ? whole.x : sum.x;
    sum.y = isfinite(sum.y) ? whole.y : sum.y;
    sum.z = isfinite(sum.z) ? whole.z : sum.z;
    sum.w = isfinite(sum.w) ? whole.w : sum.w;
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
