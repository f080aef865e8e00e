// The paper's first kernel: a column a work-item, v staged in local memory LOCAL_X elements at a time. Rows of A are read side by side,
// but a column a work-item keeps few of a device's lanes busy below some ten thousand columns.
#define LOCAL_Y 1
#include "tmv/include/columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, 1, 1))) void tmv_naive(TMV_KERNEL_ARGUMENTS) {
    local REAL shared_1[LOCAL_X];
    TMV_BEGIN;
    const int col = get_global_id(0);
    store_columns(y, cols, col, column_sums(A, v, y, rows, cols, stride, part_rows, col, shared_1));
}
