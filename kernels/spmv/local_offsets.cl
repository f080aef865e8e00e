// The aligned kernel with the offsets staged in local memory, 256 at a time. Saves 4 of 12 bytes an entry where nothing caches
// global loads; costs barriers where something does. Catanzaro 2010, third kernel, without its limit of 256 diagonals.
#include "spmv/include/dia.cl"
#include "spmv/include/staged_offsets.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_local_offsets(DIA_ARGUMENTS) {
    local INDEX local_offsets[OFFSET_BLOCK];
    const INDEX row = (INDEX)get_global_id(0);
    REAL sum = 0;
    global const REAL* entry = val + row;
    for (int first = 0; first < diags; first += OFFSET_BLOCK) {
        STAGE_OFFSETS(first)
        if (row >= rows) continue;
        const int count = min(OFFSET_BLOCK, diags - first);
        for (int k = 0; k < count; ++k) {
            const INDEX col = row + local_offsets[k];
            if (col >= 0 && col < cols) sum = fma(*entry, x[col], sum);
            entry += pitch;
        }
    }
    if (row < rows) DIA_STORE(row, sum);
}
