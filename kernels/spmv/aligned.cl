// One row a work-item as in basic, with every diagonal aligned to 128 bytes and a running pointer in place of the index sum.
// Spends at most 31 elements of padding a diagonal. Catanzaro 2010, second listing.
#define RESTRICT
#include "spmv/include/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_aligned(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL accumulator = 0;
    global const REAL* matrix_offset = val + row;
    for (int diag = 0; diag < diags; ++diag) {
        const INDEX col = row + offsets[diag];
        if (col >= 0 && col < cols) {
            const REAL m = *matrix_offset;
            const REAL v = x[col];
            accumulator += m * v;
        }
        matrix_offset += pitch;
    }
    DIA_STORE(row, accumulator);
}
