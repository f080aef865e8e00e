// ROWS rows a work-item; x carries zeros on either side, so the loop has no bounds test and its loads overlap, UNROLL at a time.
// Spends a copy of x a product: a second launch, 2 of 83 elements a row at 81 diagonals.
#include "spmv/include/rows.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_padded(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0) * ROWS;
    if (row >= rows) return;
    REAL sum[ROWS];
    VSTORE(dia_sum_inside(val + row, pitch, diags, offsets, x + x_origin + row), sum);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (row + r < rows) DIA_STORE(row + r, sum[r]);
}
