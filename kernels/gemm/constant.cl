// A column of HEIGHT elements of the result a work-item: each element of B is loaded once for HEIGHT multiply-adds, whose other factors
// all work-items read from the same place of constant memory. A panel of A, transposed, fills the constant buffer; D gathers the sums
// over panels, which costs a read and a write of it each DEPTH steps. Yang 2012, D.
#define RESTRICT
#include "gemm/include/gemm.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void gemm_constant(GEMM_ARGUMENTS, constant REAL4 *panel) {
    GEMM_BATCH
    const long n = get_global_id(0), m = (long)get_group_id(1) * HEIGHT;
    if (n >= N) return;
    constant const REAL4 *of_a = panel + get_group_id(1) * (DEPTH * HEIGHT / 4);
    global const REAL *b = &B_AT(0, n);
    REAL4 sum[HEIGHT / 4];
#pragma unroll
    for (int i = 0; i < HEIGHT / 4; ++i) sum[i] = 0;
    for (int k = 0; k < K; k += UNROLL) {
        REAL of_b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) of_b[u] = k + u < K ? b[u * B_STEP] : 0;
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int i = 0; i < HEIGHT / 4; ++i) sum[i] = fma(of_a[u * (HEIGHT / 4) + i], (REAL4)of_b[u], sum[i]);
        of_a += UNROLL * (HEIGHT / 4);
        b += UNROLL * B_STEP;
    }
#pragma unroll
    for (int i = 0; i < HEIGHT / 4; ++i) {
        if (m + 4 * i < M) STORE(m + 4 * i, n, sum[i].x);
        if (m + 4 * i + 1 < M) STORE(m + 4 * i + 1, n, sum[i].y);
        if (m + 4 * i + 2 < M) STORE(m + 4 * i + 2, n, sum[i].z);
        if (m + 4 * i + 3 < M) STORE(m + 4 * i + 3, n, sum[i].w);
    }
}
