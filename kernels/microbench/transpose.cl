// Transposes an array of rows, one scalar a work-item: loads run along rows, stores run down columns, so that one of the two is
// scattered in every shape of work-group; square ones share the loss.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_transpose(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long x = get_global_id(0), rows = count / width;
    if (x >= width) return;
    for (long y = get_global_id(1); y < rows; y += get_global_size(1)) to[x * rows + y] = from[y * width + x];
}
