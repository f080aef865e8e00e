// One row a work-item, offsets read from global memory, a bounds test an entry; diagonals follow each other unaligned (pitch = rows).
// Spends 12 bytes of loads per entry where a cache does not help. Catanzaro 2010, first listing. PLACE is int where the matrix allows.
#define RESTRICT
#include "spmv/include/dia.cl"
#ifndef PLACE
#define PLACE int
#endif

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_basic(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL accumulator = 0;
    for (int diag = 0; diag < diags; ++diag) {
        const INDEX col = row + offsets[diag];
        if (col >= 0 && col < cols) {
            const REAL m = val[(PLACE)diag * (PLACE)rows + row];
            const REAL v = x[col];
            accumulator += m * v;
        }
    }
    DIA_STORE(row, accumulator);
}
