// For CPUs: a matrix times a vector, or times few of them one after the other. The operand of the longer side streams past once for each
// element of the shorter one. Where its k lie side by side, a work-item has LINES sums of dot products; else it has PANEL of the longer
// side's columns, whose sums stay in the first-level cache while rows of k pass, four at a time. Spends nothing on packing. Loses where the
// shorter side is longer than a few, for the operand is read again for each.
#include "gemm/include/gemm.cl"
#include "gemm/include/sides.cl"

#define DEPTH 512    // k that a work-item holds of the vector, and that it sums before it adds to its total: long sums stay accurate
#define SUMMED 4096  // the same of columns
#define EACH_LINE _Pragma("unroll") for (int l = 0; l < LINES; ++l)
// Vectors at any element.
typedef REALV ANYWHERE __attribute__((aligned(sizeof(REAL))));
#define READ(p) (*(global const ANYWHERE *)(p))

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gemm_vector(GEMM_ARGUMENTS) {
    GEMM_BATCH
#if BESIDE
    REALV sums[PANEL / WIDTH], totals[PANEL / WIDTH];
    REAL *const each = (REAL *)sums, *const all = (REAL *)totals;
    const int strips = (FAR + PANEL - 1) / PANEL, i = (int)get_group_id(0) / strips, j0 = (int)get_group_id(0) % strips * PANEL;
    const int columns = min(PANEL, FAR - j0), whole = columns / WIDTH;
    for (int v = 0; v < PANEL / WIDTH; ++v) totals[v] = 0;
    for (int k0 = 0; k0 < K; k0 += SUMMED) {
        const int end = min(k0 + SUMMED, K);
        for (int v = 0; v < PANEL / WIDTH; ++v) sums[v] = 0;
        int k = k0;
        for (; k + 4 <= end; k += 4) {
            const REAL a = SHORT_AT(i, k), b = SHORT_AT(i, k + 1), c = SHORT_AT(i, k + 2), d = SHORT_AT(i, k + 3);
            global const REAL *p = &FAR_AT(j0, k), *q = &FAR_AT(j0, k + 1), *r = &FAR_AT(j0, k + 2), *s = &FAR_AT(j0, k + 3);
            for (int v = 0; v < whole; ++v, p += WIDTH, q += WIDTH, r += WIDTH, s += WIDTH) {
                const REALV two = fma((REALV)(b), READ(q), fma((REALV)(a), READ(p), sums[v]));
                sums[v] = fma((REALV)(d), READ(s), fma((REALV)(c), READ(r), two));
            }
            for (int j = whole * WIDTH; j < columns; ++j, ++p, ++q, ++r, ++s)
                each[j] = fma(d, *s, fma(c, *r, fma(b, *q, fma(a, *p, each[j]))));
        }
        for (; k < end; ++k)
            for (int j = 0; j < columns; ++j) each[j] = fma(SHORT_AT(i, k), FAR_AT(j0 + j, k), each[j]);
        for (int v = 0; v < PANEL / WIDTH; ++v) totals[v] += sums[v];
    }
    for (int j = 0; j < columns; ++j) PUT(i, j0 + j, all[j]);
#else
    REALV held[DEPTH / WIDTH], totals[LINES];
    REAL *const each = (REAL *)held;
    REAL rest[LINES];
    const int strips = (FAR + LINES - 1) / LINES, i = (int)get_group_id(0) / strips, j0 = (int)get_group_id(0) % strips * LINES;
    EACH_LINE totals[l] = 0, rest[l] = 0;
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        const int depth = min(DEPTH, K - k0), whole = depth / WIDTH;
        for (int k = 0; k < depth; ++k) each[k] = SHORT_AT(i, k0 + k);
        global const REAL *line[LINES];
        REALV sum[LINES];
        EACH_LINE line[l] = &FAR_AT(min(j0 + l, FAR - 1), k0);
        EACH_LINE sum[l] = 0;
        for (int v = 0; v < whole; ++v) EACH_LINE sum[l] = fma(READ(line[l] + v * WIDTH), held[v], sum[l]);
        for (int k = whole * WIDTH; k < depth; ++k) EACH_LINE rest[l] = fma(line[l][k], each[k], rest[l]);
        EACH_LINE totals[l] += sum[l];
    }
    EACH_LINE {
        if (j0 + l >= FAR) continue;
        held[0] = totals[l];
        REAL all = rest[l];
        for (int w = 0; w < WIDTH; ++w) all += each[w];
        PUT(i, j0 + l, all);
    }
#endif
}
