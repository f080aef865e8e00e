// Sums of ROWS neighbouring rows, with and without bounds tests; UNROLL entries are loaded before the first is used.
#define WIDTH ROWS
#include "spmv/include/dia.cl"

// `entry` and `vector` point at the first row; every row + offset lies where x may be read.
inline REALV dia_sum_inside(global const VALUE* entry, const long stride, const int diags, OFFSET_SPACE const INDEX* restrict offsets,
                            global const REAL* restrict vector) {
    REALV sum = (REALV)(0);
    int k = 0;
    for (; k + UNROLL <= diags; k += UNROLL) {
        REALV a[UNROLL], v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            a[u] = LOAD_ALIGNED(entry + u * stride);
            v[u] = VLOAD(vector + offsets[k + u]);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum = fma(a[u], v[u], sum);
        entry += UNROLL * stride;
    }
    for (; k < diags; ++k) {
        sum = fma(LOAD_ALIGNED(entry), VLOAD(vector + offsets[k]), sum);
        entry += stride;
    }
    return sum;
}

// One row, every entry tested.
inline REAL dia_sum_tested(global const VALUE* entry, const long stride, const int diags, OFFSET_SPACE const INDEX* restrict offsets,
                           global const REAL* restrict x, const INDEX row, const INDEX cols) {
    REAL sum = 0;
    for (int k = 0; k < diags; ++k) {
        const INDEX col = row + offsets[k];
        if (col >= 0 && col < cols) sum = fma(LOAD_VALUE(entry + k * stride), x[col], sum);
    }
    return sum;
}
