// Sums of BLOCK neighbouring rows in explicit WIDTH-wide vectors, for one work-item; x padded, no bounds test.
// Values of one diagonal are neighbours; the next diagonal's begin `stride` further on.
#include "common/dia.cl"

#define VECTORS (BLOCK / WIDTH)
// Sums that fit registers want a straight line; more of them, kept in the first cache, a loop.
#if VECTORS <= 16
#define EACH_VECTOR _Pragma("unroll") for (int j = 0; j < VECTORS; ++j)
#else
#define EACH_VECTOR _Pragma("nounroll") for (int j = 0; j < VECTORS; ++j)
#endif

inline void dia_block(global const VALUE* entry, const long stride, const int diags, OFFSET_SPACE const INDEX* restrict offsets,
                      global const REAL* restrict vector, REAL* result) {
    REALV sum[VECTORS];
    EACH_VECTOR sum[j] = (REALV)(0);
    for (int k = 0; k < diags; ++k) {
        const INDEX offset = offsets[k];
        EACH_VECTOR
            sum[j] = fma(LOAD_VALUES(entry + j * WIDTH), VLOAD(vector + offset + j * WIDTH), sum[j]);
        entry += stride;
    }
    EACH_VECTOR VSTORE(sum[j], result + j * WIDTH);
}
