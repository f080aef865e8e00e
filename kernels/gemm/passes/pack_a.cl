// Panels of ROWS rows of op(A) into D, for `packed`: one part of DEPTH k after the other, in a part panel after panel, in a panel its
// rows side by side. Rows beyond the last are zeros. Reads A once and writes as much; 3 to 6 % of a product of 2048 or 1024 rows.
#include "gemm/include/gemm.cl"

#ifndef ROWS
#define ROWS 6
#define DEPTH 128
#define EACH 8  // panels a work-item
#endif

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_pack_a(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const long panels = (M + ROWS - 1L) / ROWS, first = (long)get_global_id(0) * EACH, last = min(first + EACH, panels);
    for (long k0 = 0; k0 < K; k0 += DEPTH) {
        const int depth = min((long)DEPTH, K - k0);
        global REAL *to = D + k0 * panels * ROWS;
#if TRANSPOSE_A
        // Panels lie side by side in a row of A.
        for (int k = 0; k < depth; ++k)
            for (long panel = first; panel < last; ++panel)
#else
        for (long panel = first; panel < last; ++panel)
            for (int k = 0; k < depth; ++k)
#endif
            {
                const long m = panel * ROWS;
                global REAL *row = to + m * depth + k * ROWS;
                if (m + ROWS <= M) {
#pragma unroll
                    for (int i = 0; i < ROWS; ++i) row[i] = A_AT(m + i, k0 + k);
                } else {
                    for (int i = 0; i < ROWS; ++i) row[i] = m + i < M ? A_AT(m + i, k0 + k) : 0;
                }
            }
    }
}
