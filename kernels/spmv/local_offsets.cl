// The aligned kernel with the offsets in local memory: at most 256 diagonals. Saves 4 of 12 bytes an entry where nothing caches
// global loads; costs a barrier where something does. Catanzaro 2010, third listing.
#define RESTRICT
#include "spmv/include/dia.cl"
#include "spmv/include/staged_offsets.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_local_offsets(DIA_ARGUMENTS) {
    STAGE_OFFSETS
    const INDEX row = (INDEX)get_global_id(0);
    if (row >= rows) return;
    REAL accumulator = 0;
    global const REAL* matrix_offset = val + row;
    for (int diag = 0; diag < diags; ++diag) {
        const INDEX col = row + l_offsets[diag];
        if (col >= 0 && col < cols) {
            const REAL m = *matrix_offset;
            const REAL v = x[col];
            accumulator += m * v;
        }
        matrix_offset += pitch;
    }
    DIA_STORE(row, accumulator);
}
