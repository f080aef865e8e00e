// One row a work-item as in basic, with every diagonal aligned to 128 bytes and a running pointer in place of the index sum.
// Spends at most 31 elements of padding a diagonal. Catanzaro 2010, second kernel.
#include "spmv/include/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_aligned(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL sum = 0;
    global const REAL* entry = val + row;
    for (int k = 0; k < diags; ++k) {
        const INDEX col = row + offsets[k];
        if (col >= 0 && col < cols) sum = fma(*entry, x[col], sum);
        entry += pitch;
    }
    DIA_STORE(row, sum);
}
