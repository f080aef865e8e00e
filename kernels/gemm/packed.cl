// For CPUs: few work-items, each a block of the result in tiles of ROWS x (VECTORS * WIDTH) sums that live in registers. It packs DEPTH
// rows of its part of B into local memory, which is its core's second cache; panels of A, packed by a pass (PASS=1) or as they lie (0),
// then pass through the first cache once for all panels of B. Spends that copy, and as many reads and writes of D as there are parts of
// DEPTH k. On a GPU it leaves the device idle; where M or N is below a tile, most of a tile is padding. Transposed and as it lies, A has
// the k of a panel in rows that are far apart: slow where it is read more than once.
#include "gemm/include/gemm.cl"

#define COLUMNS (VECTORS * WIDTH)
// Element k of row i of a panel of A, of what `of_a` names.
#if PASS
#define OF_A(i, k) of_a[(k) * ROWS + (i)]
#elif TRANSPOSE_A
#define OF_A(i, k) of_a[(size_t)(k) * lda + of_row[i]]
#else
#define OF_A(i, k) of_a[of_row[i] + (k)]
#endif
#define EACH_ROW _Pragma("unroll") for (int i = 0; i < ROWS; ++i)
#define EACH_VECTOR _Pragma("unroll") for (int j = 0; j < VECTORS; ++j)
// Vectors at any element: PoCL 3.1 stores a vstore16 in four pieces.
typedef REALV ANYWHERE __attribute__((aligned(sizeof(REAL))));
#define READ(p) (*(global const ANYWHERE *)(p))
#define WRITE(p) (*(global ANYWHERE *)(p))
// PoCL's prefetch() does nothing. Fetching a tile of D before its sums are made saves 4 % (Xeon, AVX-512).
#if defined(__clang__) && !defined(__NV_CL_C_VERSION)
#define FETCH(p) __builtin_prefetch((const void *)(size_t)(p), 1)
#else
#define FETCH(p)
#endif

// `columns` columns of op(B), fewer than a panel has at the end, and zeros beside them.
inline void pack_panel(global const REAL *B, const long ldb, const long k0, const int depth, const long n, const int columns,
                       local REALV *panel) {
    local REAL *to = (local REAL *)panel;
#if TRANSPOSE_B
    // Squares of four, in which each line of B is read once and none of the panel's written twice.
    const int whole = columns == COLUMNS ? depth / 4 * 4 : 0;
    for (int i = 0; i < (whole ? COLUMNS : 0); i += 4)
        for (int k = 0; k < whole; k += 4) {
            const REAL4 c0 = vload4(0, &B_AT(k0 + k, n + i)), c1 = vload4(0, &B_AT(k0 + k, n + i + 1)),
                        c2 = vload4(0, &B_AT(k0 + k, n + i + 2)), c3 = vload4(0, &B_AT(k0 + k, n + i + 3));
            local REAL4 *row = (local REAL4 *)(to + k * COLUMNS + i);
            row[0] = (REAL4)(c0.x, c1.x, c2.x, c3.x);
            row[COLUMNS / 4] = (REAL4)(c0.y, c1.y, c2.y, c3.y);
            row[COLUMNS / 2] = (REAL4)(c0.z, c1.z, c2.z, c3.z);
            row[COLUMNS / 4 * 3] = (REAL4)(c0.w, c1.w, c2.w, c3.w);
        }
#else
    const int whole = columns == COLUMNS ? depth : 0;
    for (int k = 0; k < whole; ++k, panel += VECTORS) {
        global const REAL *from = &B_AT(k0 + k, n);
        EACH_VECTOR panel[j] = READ(from + j * WIDTH);
    }
#endif
    for (int k = whole; k < depth; ++k)
        for (int i = 0; i < COLUMNS; ++i) to[k * COLUMNS + i] = i < columns ? B_AT(k0 + k, n + i) : 0;
}

// What becomes of a place of the result: the first part of a sum meets the addend, others what the first left there.
#if ADDEND == 0
#define FIRST(type, c, d, sum) (alpha * (sum))
#elif ADDEND == 1
#define FIRST(type, c, d, sum) fma((type)(beta), c, alpha * (sum))
#else
#define FIRST(type, c, d, sum) fma((type)(alpha), sum, d)
#endif
#define NEXT(type, d, sum) fma((type)(alpha), sum, d)

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_packed(GEMM_ARGUMENTS, const int down) {
    GEMM_BATCH
    local REALV panels[PANELS * DEPTH * VECTORS];
    const long block = (long)get_global_id(0) % down, column_block = (long)get_global_id(0) / down;
    const long across = (long)get_global_size(0) / down;
    const long rows_of_panels = (M + ROWS - 1L) / ROWS, columns_of_panels = (N + COLUMNS - 1L) / COLUMNS;
    const long top = rows_of_panels * block / down, bottom = rows_of_panels * (block + 1) / down;
    const long left = columns_of_panels * column_block / across;
    const int wide = (int)(columns_of_panels * (column_block + 1) / across - left);
    for (long k0 = 0; k0 < K; k0 += DEPTH) {
        const int depth = min((long)DEPTH, K - k0);
        for (int p = 0; p < wide; ++p) {
            const long n = (left + p) * COLUMNS;
            pack_panel(B, ldb, k0, depth, n, min((long)COLUMNS, N - n), panels + p * (DEPTH * VECTORS));
        }
        for (long line = top; line < bottom; ++line) {
            const long m = line * ROWS;
            const int rows = min((long)ROWS, M - m);
            for (int p = 0; p < wide; ++p) {
                const long n = (left + p) * COLUMNS;
                const int columns = min((long)COLUMNS, N - n);
                global REAL *d = &D_AT(m, n);
                EACH_ROW EACH_VECTOR FETCH(d + i * ldd + j * WIDTH);

                REALV sum[ROWS][VECTORS];
                EACH_ROW EACH_VECTOR sum[i][j] = 0;
#if PASS
                global const REAL *of_a = A + k0 * rows_of_panels * ROWS + m * depth;
#else
                // Rows beyond the last are the last again; nothing of them is stored.
                global const REAL *of_a = &A_AT(m, k0);
                long of_row[ROWS];
                EACH_ROW of_row[i] = (TRANSPOSE_A ? 1 : lda) * min(i, rows - 1);
#endif
                local const REALV *of_b = panels + p * (DEPTH * VECTORS);
#pragma unroll 4
                for (int k = 0; k < depth; ++k) {
                    REALV b[VECTORS];
                    EACH_VECTOR b[j] = of_b[j];
                    EACH_ROW {
                        const REALV a = OF_A(i, k);
                        EACH_VECTOR sum[i][j] = fma(a, b[j], sum[i][j]);
                    }
                    of_b += VECTORS;
                }

                global const REAL *c = ADDEND == 1 ? C + m * ldc + n : d;
                const long step = ADDEND == 1 ? ldc : ldd;
                (void)c, (void)step;
                if (columns == COLUMNS) {
                    EACH_ROW {
                        if (i >= rows) break;
                        global REAL *to = d + i * ldd;
                        EACH_VECTOR WRITE(to + j * WIDTH) =
                            k0 == 0 ? FIRST(REALV, READ(c + i * step + j * WIDTH), READ(to + j * WIDTH), sum[i][j])
                                    : NEXT(REALV, READ(to + j * WIDTH), sum[i][j]);
                    }
                } else {
                    REAL tile[ROWS * COLUMNS];
                    EACH_ROW EACH_VECTOR VSTORE(sum[i][j], tile + i * COLUMNS + j * WIDTH);
                    for (int i = 0; i < rows; ++i)
                        for (int j = 0; j < columns; ++j) {
                            global REAL *to = d + i * ldd + j;
                            const REAL one = tile[i * COLUMNS + j];
                            *to = k0 == 0 ? FIRST(REAL, c[i * step + j], *to, one) : NEXT(REAL, *to, one);
                        }
                }
            }
        }
    }
}
