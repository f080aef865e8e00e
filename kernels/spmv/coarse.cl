// The four rows of vectorized, with ITEMS work-items that each walk a run of rows: parallelism as coarse as a CPU's, which Catanzaro
// 2010 advises and does not print. Leaves a GPU idle; on a CPU its many address streams exceed the TLB.
#define RESTRICT
#include "spmv/include/four_rows.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_coarse(DIA_ARGUMENTS) {
    const INDEX fours = (rows + 3) / 4;
    const INDEX first = (INDEX)((long)fours * (long)get_global_id(0) / ITEMS);
    const INDEX last = (INDEX)((long)fours * ((long)get_global_id(0) + 1) / ITEMS);
    for (INDEX four = first; four < last; ++four) {
        const INDEX row = four * 4;
        REAL4 sum = (REAL4)(0);
        global const REAL* entry = val + row;
        for (int k = 0; k < diags; ++k) {
            sum += vload4(0, entry) * four_of_x(x, row + offsets[k], cols);
            entry += pitch;
        }
        store_four(y, addend, row, rows, sum, alpha, beta);
    }
}
