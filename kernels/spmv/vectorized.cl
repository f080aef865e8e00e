// Four rows a work-item by 4-wide loads, offsets in local memory, bounds tested once a vector. Fewer, wider loads; loses where
// unaligned vector loads of x are split again by the device. Catanzaro 2010, fourth kernel, with the tail rows guarded.
#include "common/dia.cl"
#include "common/local_offsets.cl"

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
            const INDEX col = row + local_offsets[k];
            REAL4 v;
            if (col >= 0 && col <= cols - 4) {
                v = vload4(0, x + col);
            } else {
                v.x = col >= 0 && col < cols ? x[col] : 0;
                v.y = col >= -1 && col < cols - 1 ? x[col + 1] : 0;
                v.z = col >= -2 && col < cols - 2 ? x[col + 2] : 0;
                v.w = col >= -3 && col < cols - 3 ? x[col + 3] : 0;
            }
            sum = fma(vload4(0, entry), v, sum);
            entry += pitch;
        }
    }
    if (row < rows) DIA_STORE(row, sum.x);
    if (row + 1 < rows) DIA_STORE(row + 1, sum.y);
    if (row + 2 < rows) DIA_STORE(row + 2, sum.z);
    if (row + 3 < rows) DIA_STORE(row + 3, sum.w);
}
