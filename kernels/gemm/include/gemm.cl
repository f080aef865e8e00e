// C = alpha op(A) op(B) + beta C of row-major matrices: D (M x N) is what is written, C the addend. A kernel's first line is GEMM_BATCH,
// which moves the pointers to the matrices of its part of the product: ids 2 are the batch, and a launch begins `from_...` elements on
// where the whole product would have more work-groups than a launch may (65535 in y and z). The last matrix of a batch may have a shorter
// K than the others: it is then the last part of a product split along k.
#ifndef GPUOPT_COMMON_GEMM
#define GPUOPT_COMMON_GEMM
#include "common/real.cl"

#ifndef TRANSPOSE_A
#define TRANSPOSE_A 0
#endif
#ifndef TRANSPOSE_B
#define TRANSPOSE_B 0
#endif
#ifndef ADDEND  // 0: none, and C is never read; 1: C; 2: what D holds, times 1
#define ADDEND 0
#endif
// 1: rows of this operand begin at multiples of four elements, in every matrix of the batch: a REAL4 may be loaded there.
#ifndef ALIGNED_A
#define ALIGNED_A 0
#endif
#ifndef ALIGNED_B
#define ALIGNED_B 0
#endif
#ifndef ALIGNED_D
#define ALIGNED_D 0
#endif

// Kernels as a paper lists them promise nothing of overlapping arguments: they set RESTRICT empty.
#ifndef RESTRICT
#define RESTRICT restrict
#endif

// ld: elements from a row to the next; batch: from a matrix to the next, 0 where all of a batch share one.
#define GEMM_ARGUMENTS                                                                                                          \
    global const REAL *RESTRICT A, global const REAL *RESTRICT B, global const REAL *RESTRICT C, global REAL *RESTRICT D,       \
        const int M, const int N, const int k_each, const long lda, const long ldb, const long ldc, const long ldd,             \
        const long batch_a, const long batch_b, const long batch_c, const long batch_d, const REAL alpha, const REAL beta,      \
        const long from_a, const long from_b, const long from_c, const long from_d, const int k_last

#define GEMM_BATCH                                                                                                              \
    A += from_a + (long)get_group_id(2) * batch_a;                                                                              \
    B += from_b + (long)get_group_id(2) * batch_b;                                                                              \
    C += from_c + (long)get_group_id(2) * batch_c;                                                                              \
    D += from_d + (long)get_group_id(2) * batch_d;                                                                              \
    const int K = get_group_id(2) + 1 < get_num_groups(2) ? k_each : k_last;                                                    \
    (void)A, (void)B, (void)C, (void)K;  // not every kernel reads them

// Unchecked elements of op(A) and op(B).
#if TRANSPOSE_A
#define A_AT(m, k) A[(size_t)(k) * lda + (m)]
#define A_STEP lda  // from an element of a sum to the next
#else
#define A_AT(m, k) A[(size_t)(m) * lda + (k)]
#define A_STEP 1
#endif
#if TRANSPOSE_B
#define B_AT(k, n) B[(size_t)(n) * ldb + (k)]
#define B_STEP 1
#else
#define B_AT(k, n) B[(size_t)(k) * ldb + (n)]
#define B_STEP ldb
#endif

// Whether neighbours of a row of the result may be stored at once.
#define WIDE_STORES (ALIGNED_D == 1 && ADDEND == 0)
// One element of the result from its sum of products.
#define D_AT(m, n) D[(size_t)(m) * ldd + (n)]
#if ADDEND == 0
#define STORE(m, n, value) D_AT(m, n) = alpha * (value)
#elif ADDEND == 1
#define STORE(m, n, value) D_AT(m, n) = fma(beta, C[(size_t)(m) * ldc + (n)], alpha * (value))
#else
#define STORE(m, n, value) D_AT(m, n) = fma(alpha, (value), D_AT(m, n))
#endif
#endif
