// The bits of the largest magnitude in each of M rows of op(A), for fp16's scales; of finite numbers they compare as whole numbers.
#include "gemm/include/gemm.cl"

#define SPAN 64  // of k, for a work-item where rows lie side by side

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void gemm_largest(GEMM_ARGUMENTS, global int *restrict notes,
                                                                          const long largest_step, const long largest_from) {
    GEMM_BATCH
    (void)D;
    global int *largest = notes + largest_from + (long)get_group_id(2) * largest_step;
    const int item = get_local_id(0);
    float most = 0;
#if TRANSPOSE_A
    const int across = (M + 255) / 256, m = (int)get_group_id(0) % across * 256 + item;
    const int from = (int)get_group_id(0) / across * SPAN, to = min(K, from + SPAN);
    if (m >= M) return;
    for (int k = from; k < to; ++k) most = fmax(most, fabs((float)A_AT(m, k)));
    atomic_max(&largest[m], as_int(most));
#else
    const int m = (int)get_group_id(0) * 8 + item / 32, lane = item % 32;
    if (m >= M) return;
#if ALIGNED_A
    for (int k = lane * 4; k + 4 <= K; k += 128) {
        const float4 four = fabs(*(const global float4 *)&A_AT(m, k));
        most = fmax(most, fmax(fmax(four.x, four.y), fmax(four.z, four.w)));
    }
    for (int k = K / 4 * 4 + lane; k < K; k += 32) most = fmax(most, fabs((float)A_AT(m, k)));
#else
    for (int k = lane; k < K; k += 32) most = fmax(most, fabs((float)A_AT(m, k)));
#endif
    atomic_max(&largest[m], as_int(most));
#endif
}
