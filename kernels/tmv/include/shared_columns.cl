// A column over LOCAL_Y work-items, whose sums are added once, after the loop: the listing of the paper adds them inside it, and so
// counts rows twice where there are more than LOCAL_X * LOCAL_Y.
#include "tmv/include/columns.cl"

#define TMV_SHARED_COLUMNS(col)                                                                                 \
    local REAL staged[LOCAL_Y * LOCAL_X];                                                                       \
    local REALV sums[LOCAL_Y][LOCAL_X];                                                                         \
    REALV sum = column_sums(A, v, y, rows, cols, stride, part_rows, col, staged);                               \
    sums[get_local_id(1)][get_local_id(0)] = sum;                                                               \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                               \
    if (get_local_id(1) == 0) {                                                                                 \
        for (int i = 1; i < LOCAL_Y; ++i) sum += sums[i][get_local_id(0)];                                      \
        store_columns(y, cols, col, sum);                                                                       \
    }
