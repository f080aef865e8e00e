// One row a work-item, offsets read from global memory, a bounds test an entry; diagonals follow each other unaligned (pitch = rows).
// Spends 12 bytes of loads per entry where a cache does not help. Catanzaro 2010, first kernel.
#include "spmv/include/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_basic(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL sum = 0;
    for (int k = 0; k < diags; ++k) {
        const INDEX col = row + offsets[k];
        if (col >= 0 && col < cols) sum = fma(val[(long)k * rows + row], x[col], sum);
    }
    DIA_STORE(row, sum);
}
