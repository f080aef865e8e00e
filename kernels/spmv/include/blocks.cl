// Sums of BLOCK neighbouring rows in explicit WIDTH-wide vectors, for one work-item. Values of one diagonal are neighbours; those of
// diagonal k begin BEHIND(k) further on.
#include "spmv/include/dia.cl"

#define X(column) (x + x_origin + (column))
#ifndef BEHIND
#define DISTANCES const long stride
#define BEHIND(k) ((k) * stride)
#endif

#define VECTORS (BLOCK / WIDTH)
// Sums that fit registers want a straight line; more of them, kept in the first cache, a loop.
#if VECTORS <= 16
#define EACH_VECTOR _Pragma("unroll") for (int j = 0; j < VECTORS; ++j)
#else
#define EACH_VECTOR _Pragma("nounroll") for (int j = 0; j < VECTORS; ++j)
#endif

// `vector` points at the first row; every row + offset lies inside x.
inline void dia_block_inside(global const VALUE* first, DISTANCES, const int diags,
                             OFFSET_SPACE const INDEX* restrict offsets, global const REAL* restrict vector, REAL* result) {
    REALV sum[VECTORS];
    EACH_VECTOR sum[j] = (REALV)(0);
    for (int k = 0; k < diags; ++k) {
        const INDEX offset = offsets[k];
        global const VALUE* const entry = first + BEHIND(k);
        EACH_VECTOR
            sum[j] = fma(LOAD_VALUES(entry + j * WIDTH), VLOAD(vector + offset + j * WIDTH), sum[j]);
    }
    EACH_VECTOR VSTORE(sum[j], result + j * WIDTH);
}

// Near the matrix's rim: of each diagonal the rows whose entry lies inside, no test an entry.
inline void dia_block_rim(global const VALUE* first, DISTANCES, const int diags, OFFSET_SPACE const INDEX* restrict offsets,
                          global const REAL* restrict x, const INDEX row, const INDEX count, const INDEX cols, REAL* result) {
    for (INDEX i = 0; i < count; ++i) result[i] = 0;
    for (int k = 0; k < diags; ++k) {
        const INDEX col = row + offsets[k], last = min(count, cols - col);
        global const VALUE* const entry = first + BEHIND(k);
        INDEX i = max((INDEX)0, -col);
        for (; i + WIDTH <= last; i += WIDTH)
            VSTORE(fma(LOAD_VALUES(entry + i), VLOAD(x + (col + i)), VLOAD(result + i)), result + i);
        for (; i < last; ++i) result[i] = fma(LOAD_VALUE(entry + i), x[col + i], result[i]);
    }
}

// BLOCK rows of y from `row` on, fewer at the end.
#define DIA_BLOCK(row, entry, distances)                                                                           \
    {                                                                                                              \
        const INDEX row_ = row, count_ = min((INDEX)BLOCK, rows - row_);                                           \
        REAL result_[BLOCK];                                                                                       \
        if (count_ == BLOCK && diags > 0 && row_ + offsets[0] >= 0 && row_ + offsets[diags - 1] + BLOCK <= cols)   \
            dia_block_inside(entry, distances, diags, offsets, X(row_), result_);                                      \
        else                                                                                                       \
            dia_block_rim(entry, distances, diags, offsets, X(0), row_, count_, cols, result_);                        \
        for (INDEX i_ = 0; i_ < count_; ++i_) DIA_STORE(row_ + i_, result_[i_]);                                   \
    }
