// One row a work-item; x carries zeros on either side, so the loop has no bounds test and its loads overlap, UNROLL at a time.
// Spends one copy of x a product (2 of 83 elements a row at 81 diagonals); loses on CPUs, where 81 streams exceed the TLB.
#include "common/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_padded(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL sum = 0;
    global const REAL* entry = val + row;
    global const REAL* vector = x + x_origin + row;
    int k = 0;
    for (; k + UNROLL <= diags; k += UNROLL) {
        REAL a[UNROLL], v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            a[u] = entry[(long)u * pitch];
            v[u] = vector[offsets[k + u]];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum = fma(a[u], v[u], sum);
        entry += (long)UNROLL * pitch;
    }
    for (; k < diags; ++k) {
        sum = fma(*entry, vector[offsets[k]], sum);
        entry += pitch;
    }
    DIA_STORE(row, sum);
}
