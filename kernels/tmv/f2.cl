// As naive, two columns a work-item by float2: half the loads and half the reads of v, but half the work-items too, which loses where
// these were too few already.
#define WIDTH 2
#define LOCAL_Y 1
#include "tmv/include/columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, 1, 1))) void tmv_f2(TMV_KERNEL_ARGUMENTS) {
    local REAL shared_1[LOCAL_X];
    TMV_BEGIN;
    const int col = 2 * (int)get_global_id(0);
    store_columns(y, cols, col, column_sums(A, v, y, rows, cols, stride, part_rows, col, shared_1));
}
