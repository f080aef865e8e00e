// Four rows a work-item by 4-wide loads, offsets in local memory, bounds tested once a vector. Fewer, wider loads; loses where
// unaligned vector loads of x are split again by the device. Catanzaro 2010, fourth kernel, with the tail rows guarded.
#include "spmv/include/four_rows.cl"
#include "spmv/include/staged_offsets.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_vectorized(DIA_ARGUMENTS) {
    local INDEX local_offsets[OFFSET_BLOCK];
    const INDEX row = (INDEX)get_global_id(0) * 4;
    REAL4 sum = (REAL4)(0);
    // The pitch is a multiple of 4, so a work-item whose first row exists reads whole vectors of val.
    global const REAL* entry = val + row;
    for (int first = 0; first < diags; first += OFFSET_BLOCK) {
        STAGE_OFFSETS(first)
        if (row >= rows) continue;
        const int count = min(OFFSET_BLOCK, diags - first);
        for (int k = 0; k < count; ++k) {
            sum = fma(vload4(0, entry), four_of_x(x, row + local_offsets[k], cols), sum);
            entry += pitch;
        }
    }
    DIA_STORE_FOUR(row, sum);
}
