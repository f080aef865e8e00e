// A column over LOCAL_Y work-items, whose sums are added once, after the loop: the listing of the paper adds them inside it, and so
// counts rows twice where there are more than LOCAL_X * LOCAL_Y.
#include "tmv/include/columns.cl"

#define TMV_SHARED_COLUMNS(col)                                                                        \
    local REAL shared_1[LOCAL_Y * LOCAL_X];                                                            \
    local REALV shared_2[LOCAL_Y][LOCAL_X];                                                            \
    REALV dot_product = column_sums(A, v, y, rows, cols, stride, part_rows, col, shared_1);            \
    shared_2[get_local_id(1)][get_local_id(0)] = dot_product;                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                      \
    if (get_local_id(1) == 0) {                                                                        \
        for (int i = 1; i < LOCAL_Y; ++i) dot_product += shared_2[i][get_local_id(0)];                 \
        store_columns(y, cols, col, dot_product);                                                      \
    }
