// As interior, with GROUPS work-groups a compute unit that stay and take block after block of rows; sums wait in local memory and leave
// KEEP blocks at a time, in the hope that bursts of stores disturb reads less. On an H200 they do not: no faster than interior (2026-11).
#include "spmv/include/rows.cl"

#define BLOCK_ROWS (LOCAL * ROWS)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_resident(DIA_ARGUMENTS) {
    local REAL kept[KEEP * BLOCK_ROWS] __attribute__((aligned(32)));
    const int lane = (int)get_local_id(0) * ROWS;
    const INDEX blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS, stride = (INDEX)get_num_groups(0);
    for (INDEX block = (INDEX)get_group_id(0); block < blocks;) {
        const INDEX burst = block;
        int count = 0;
        for (; count < KEEP && block < blocks; ++count, block += stride) {
            const INDEX first = block * BLOCK_ROWS, end = first + BLOCK_ROWS, row = first + lane;
            local REAL* sum = kept + count * BLOCK_ROWS + lane;
            if (diags > 0 && end <= rows && first + offsets[0] >= 0 && end + offsets[diags - 1] <= cols) {
                *(local REALV*)sum = dia_sum_inside(ENTRY(row), STRIDE, diags, offsets, x + row);
            } else {
                for (int r = 0; r < ROWS && row + r < rows; ++r)
                    sum[r] = dia_sum_tested(ENTRY(row + r), STRIDE, diags, offsets, x, row + r, cols);
            }
        }
        // Each work-item writes what it kept itself: no barrier.
        for (int i = 0; i < count; ++i) {
            const INDEX row = (burst + i * stride) * BLOCK_ROWS + lane;
            local const REAL* sum = kept + i * BLOCK_ROWS + lane;
            if (row + ROWS <= rows) {
                DIA_STORE_ALIGNED(row, sum)
            } else {
                for (int r = 0; r < ROWS && row + r < rows; ++r) DIA_STORE(row + r, sum[r]);
            }
        }
    }
}
