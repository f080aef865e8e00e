// ROWS rows of four columns of the result a work-item: steps of four k are a load of four from each row of A and four of B, whose
// values ROWS rows share. One vector holds what the loads are indexed by, as in Jang's Figure 3 (b).
#include "gemm/include/fetch.cl"

#if TEXTURE
// Texels are four neighbours of a row, the last of a row filled up with zeros; what lies outside of an image is zero, too.
#ifdef REAL_IS_DOUBLE
#define FOUR_AT(image, column, row) convert_double4(read_imagef(image, NEAREST, (int2)(column, row)))
#else
#define FOUR_AT(image, column, row) read_imagef(image, NEAREST, (int2)(column, row))
#endif
#else
inline REAL4 four_at(global const REAL *from, const int aligned) {
    return aligned ? *(global const REAL4 *)from : vload4(0, from);
}

// Columns n to n + 3 of rows k to k + 3 of op(B); where not `whole`, what lies beyond the last column repeats it.
inline void four_of_b(global const REAL *B, const long ldb, const int N, const int k, const long n, const int whole, REAL4 rows[4]) {
#if TRANSPOSE_B
    const long last = N - 1;
    const REAL4 c0 = four_at(&B_AT(k, n), ALIGNED_B), c1 = four_at(&B_AT(k, whole ? n + 1 : min(n + 1, last)), ALIGNED_B),
                c2 = four_at(&B_AT(k, whole ? n + 2 : min(n + 2, last)), ALIGNED_B),
                c3 = four_at(&B_AT(k, whole ? n + 3 : min(n + 3, last)), ALIGNED_B);
    rows[0] = (REAL4)(c0.x, c1.x, c2.x, c3.x);
    rows[1] = (REAL4)(c0.y, c1.y, c2.y, c3.y);
    rows[2] = (REAL4)(c0.z, c1.z, c2.z, c3.z);
    rows[3] = (REAL4)(c0.w, c1.w, c2.w, c3.w);
#else
#pragma unroll
    for (int i = 0; i < 4; ++i)
        rows[i] = whole ? four_at(&B_AT(k + i, n), ALIGNED_B)
                        : (REAL4)(B_AT(k + i, n), B_AT(k + i, min(n + 1, N - 1L)), B_AT(k + i, min(n + 2, N - 1L)),
                                  B_AT(k + i, min(n + 3, N - 1L)));
#endif
}

inline REAL4 four_of_a(global const REAL *A, const long lda, const long m, const int k) {
#if TRANSPOSE_A
    return (REAL4)(A_AT(m, k), A_AT(m, k + 1), A_AT(m, k + 2), A_AT(m, k + 3));
#else
    return four_at(&A_AT(m, k), ALIGNED_A);
#endif
}

#endif

// index: a block of four columns, the first row, k for B, and the block of four k for A. Rows beyond the last repeat it, or are zeros.
#define ADD_PRODUCTS(whole)                                                                                                     \
    int left = K;                                                                                                               \
    _Pragma("unroll 1") for (; left >= LEAST; left -= 4) {                                                                      \
        REAL4 a[ROWS], b[4];                                                                                                    \
        LOAD_FOURS(whole)                                                                                                       \
        _Pragma("unroll") for (int i = 0; i < ROWS; ++i) {                                                                      \
            sum[i] = fma((REAL4)(a[i].x), b[0], sum[i]);                                                                        \
            sum[i] = fma((REAL4)(a[i].y), b[1], sum[i]);                                                                        \
            sum[i] = fma((REAL4)(a[i].z), b[2], sum[i]);                                                                        \
            sum[i] = fma((REAL4)(a[i].w), b[3], sum[i]);                                                                        \
        }                                                                                                                       \
        index += step;                                                                                                          \
    }

#if TEXTURE
#define LEAST 1  // of k left: the last block may be short
#define LOAD_FOURS(whole)                                                                                                       \
    _Pragma("unroll") for (int i = 0; i < ROWS; ++i) a[i] = FOUR_AT(image_a, index.w, index.y + i);                             \
    _Pragma("unroll") for (int i = 0; i < 4; ++i) b[i] = FOUR_AT(image_b, index.x, index.z + i);
#define ADD_REST
#else
#define LEAST 4
#define LOAD_FOURS(whole)                                                                                                       \
    _Pragma("unroll") for (int i = 0; i < ROWS; ++i) a[i] = four_of_a(A, lda, min((long)index.y + i, M - 1L), 4 * index.w);     \
    four_of_b(B, ldb, N, index.z, 4 * (long)index.x, whole, b);
#define ADD_REST                                                                                                                \
    for (int k = K - left; k < K; ++k) {                                                                                        \
        const REAL4 b = (REAL4)(B_AT(k, n), B_AT(k, min(n + 1, N - 1L)), B_AT(k, min(n + 2, N - 1L)), B_AT(k, min(n + 3, N - 1L))); \
        _Pragma("unroll") for (int i = 0; i < ROWS; ++i) sum[i] = fma((REAL4)(A_AT(min(m + i, M - 1L), k)), b, sum[i]);         \
    }
#endif

// Rows and columns that are there.
inline void store_rows(global const REAL *C, const long ldc, global REAL *D, const long ldd, const int M, const int N, const long m,
                       const long n, const int whole, const REAL alpha, const REAL beta, const REAL4 sum[ROWS]) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        if (m + i >= M) return;
#if ALIGNED_D && !ADDEND
        if (whole) {
            *(global REAL4 *)&D_AT(m + i, n) = alpha * sum[i];
            continue;
        }
#endif
        STORE(m + i, n, sum[i].x);
        if (n + 1 < N) STORE(m + i, n + 1, sum[i].y);
        if (n + 2 < N) STORE(m + i, n + 2, sum[i].z);
        if (n + 3 < N) STORE(m + i, n + 3, sum[i].w);
    }
}

// The body of such a kernel. Only the last column of work-items has columns beyond the edge.
#define FOUR_COLUMNS                                                                                                            \
    GEMM_BATCH                                                                                                                  \
    const long n = 4 * (long)get_global_id(0), m = ROWS * (long)get_global_id(1);                                               \
    if (m >= M || n >= N) return;                                                                                               \
    int4 index = (int4)((int)get_global_id(0), (int)m + FIRST_ROW, 0, 0);                                                       \
    const int4 step = (int4)(0, 0, 4, 1);                                                                                       \
    REAL4 sum[ROWS];                                                                                                            \
    for (int i = 0; i < ROWS; ++i) sum[i] = 0;                                                                                  \
    if (n <= N - 4) {                                                                                                           \
        ADD_PRODUCTS(1)                                                                                                         \
        ADD_REST                                                                                                                \
        store_rows(C, ldc, D, ldd, M, N, m, n, 1, alpha, beta, sum);                                                            \
    } else {                                                                                                                    \
        ADD_PRODUCTS(0)                                                                                                         \
        ADD_REST                                                                                                                \
        store_rows(C, ldc, D, ldd, M, N, m, n, 0, alpha, beta, sum);                                                            \
    }
