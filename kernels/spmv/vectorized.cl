// Four rows a work-item by 4-wide loads, offsets in local memory, bounds tested once a vector. Fewer, wider loads; loses where
// unaligned vector loads of x are split again by the device. Catanzaro 2010, fourth listing, with the last rows guarded.
#define RESTRICT
#include "spmv/include/four_rows.cl"
#include "spmv/include/staged_offsets.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_vectorized(DIA_ARGUMENTS) {
    STAGE_OFFSETS
    const INDEX row = (INDEX)get_global_id(0) * 4;
    if (row >= rows) return;
    REAL4 accumulator = (REAL4)(0);
    // The pitch is a multiple of 4, so a work-item whose first row exists reads whole vectors of val.
    global const REAL* matrix_offset = val + row;
    for (int diag = 0; diag < diags; ++diag) {
        const INDEX col = row + l_offsets[diag];
        const REAL4 m = vload4(0, matrix_offset);
        const REAL4 v = four_of_x(x, col, cols);
        accumulator += m * v;
        matrix_offset += pitch;
    }
    store_four(y, addend, row, rows, accumulator, alpha, beta);
}
