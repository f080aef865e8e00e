// For CPUs: few work-items, each with a strip of at most STRIP columns, whose sums stay in the first caches while its rows stream by,
// ROWS at a time in explicit WIDTH-wide vectors. Where strips are few, rows are split too, and a second pass adds the sums of
// parts. On a GPU it leaves the device idle.
#include "tmv/include/tmv.cl"
#define CHAINS 8

// Adds K rows to the sums of `width` columns, whole vectors of them.
#define ADD_ROWS(K)                                                                                             \
    {                                                                                                           \
        REALV factor[K];                                                                                        \
        _Pragma("unroll") for (int k = 0; k < K; ++k) factor[k] = (REALV)(V_AT(row + r + k));                   \
        for (int j = 0; j < width; j += WIDTH) {                                                                \
            REALV sum = VLOAD(sums + j);                                                                        \
            _Pragma("unroll") for (int k = 0; k < K; ++k) sum = fma(VLOAD(entry + k * stride + j), factor[k], sum); \
            VSTORE(sum, sums + j);                                                                              \
        }                                                                                                       \
        r += K;                                                                                                 \
        entry += K * stride;                                                                                    \
    }

inline void add_rows(global const REAL *entry, const long stride, global const REAL *restrict v, const int row, const int count,
                     const int width, REAL *sums) {
    int r = 0;
    while (r + ROWS <= count) ADD_ROWS(ROWS)
#if ROWS > 4
    while (r + 4 <= count) ADD_ROWS(4)
#endif
    if (r + 2 <= count) ADD_ROWS(2)
    if (r < count) ADD_ROWS(1)
}

// The same for one vector of columns, whose sums would else wait for their own store and load.
inline void add_narrow_rows(global const REAL *entry, const long stride, global const REAL *restrict v, const int row,
                            const int count, REAL *sums) {
    REALV sum[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; ++k) sum[k] = (REALV)(0);
    int r = 0;
    for (; r + CHAINS <= count; r += CHAINS, entry += CHAINS * stride)
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) sum[k] = fma(VLOAD(entry + k * stride), (REALV)(V_AT(row + r + k)), sum[k]);
    for (; r < count; ++r, entry += stride) sum[0] = fma(VLOAD(entry), (REALV)(V_AT(row + r)), sum[0]);
#pragma unroll
    for (int k = 1; k < CHAINS; ++k) sum[0] += sum[k];
    VSTORE(sum[0], sums);
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void tmv_row_blocks(TMV_KERNEL_ARGUMENTS) {
    TMV_BEGIN;
    const long vectors = (cols + WIDTH - 1) / WIDTH, strip = get_group_id(0), strips = get_num_groups(0);
    const int from = (int)(vectors * strip / strips) * WIDTH, width = (int)(vectors * (strip + 1) / strips) * WIDTH - from;
    const int inside = min(width, cols - from), beyond = width - inside;
    const int first = (int)get_group_id(1) * part_rows, last = min(first + part_rows, rows);
    REAL sums[STRIP];
    for (int j = 0; j < width; j += WIDTH) VSTORE((REALV)(0), sums + j);

    // The last vector of a row reads on into the next one, and sums what nobody asks for; the last rows have none behind them.
    const int without = beyond > 0 ? (int)((beyond + stride - 1) / stride) : 0;
    const int safe = max(min(last, rows - without), first);
    global const REAL *entry = A + (size_t)first * stride + from;
    if (width == WIDTH) add_narrow_rows(entry, stride, v, first, safe - first, sums);
    else add_rows(entry, stride, v, first, safe - first, width, sums);
    for (int row = safe; row < last; ++row)
        for (int j = 0; j < inside; ++j) sums[j] = fma(A[(size_t)row * stride + from + j], V_AT(row), sums[j]);

    global REAL *to = y + (size_t)get_group_id(1) * cols + from;
    int j = 0;
    for (; j + WIDTH <= inside; j += WIDTH) VSTORE(VLOAD(sums + j), to + j);
    for (; j < inside; ++j) to[j] = sums[j];
}
