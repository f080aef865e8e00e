// op(A), M x N, into an image: an element a texel, or with FOUR=1 four neighbours of a row, zeros behind the end of a row. Reads once and
// writes as much.
#include "gemm/include/gemm.cl"

#ifndef FOUR
#define FOUR 1
#endif

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void gemm_to_image(GEMM_ARGUMENTS, write_only image2d_t to) {
    GEMM_BATCH
    (void)D;  // the result of the product, not of this pass
    const long x = get_global_id(0), m = get_global_id(1), n = x * (FOUR ? 4 : 1);
    if (m >= M || n >= N) return;
    float4 texel = (float4)((float)A_AT(m, n), 0, 0, 0);
#if FOUR
    if (n + 1 < N) texel.y = A_AT(m, n + 1);
    if (n + 2 < N) texel.z = A_AT(m, n + 2);
    if (n + 3 < N) texel.w = A_AT(m, n + 3);
#endif
    write_imagef(to, (int2)((int)x, (int)m), texel);
}
