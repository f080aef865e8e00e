// ROWS rows a work-item; a work-group whose rows all lie far enough from the rim of the matrix runs the loop without bounds tests,
// the others test each entry. No copy of x, no second launch; loses where diagonals reach so far that few groups lie inside.
#include "spmv/include/rows.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_interior(DIA_ARGUMENTS) {
    const INDEX row = (INDEX)get_global_id(0) * ROWS;
    const INDEX first = (INDEX)get_group_id(0) * (LOCAL * ROWS), end = first + LOCAL * ROWS;
    REAL sum[ROWS];
    if (diags > 0 && end <= rows && first + offsets[0] >= 0 && end + offsets[diags - 1] <= cols) {
        VSTORE(dia_sum_inside(ENTRY(row), STRIDE, diags, offsets, x + row), sum);
        DIA_STORE_ALIGNED(row, sum)
    } else {
        for (int r = 0; r < ROWS && row + r < rows; ++r)
            DIA_STORE(row + r, dia_sum_tested(ENTRY(row + r), STRIDE, diags, offsets, x, row + r, cols));
    }
}
