// Squared distances of every row of A (the source's first half) from every row of B, one a work-item, with no local memory: how well a
// cache serves both depends on the shape of work-groups. The activation matrix of Yang 2012, V.B.3, Fig. 8, less its pow.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_cache_reuse(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long rows = count / 2 / width, x = get_global_id(0), y = get_global_id(1);
    if (x >= rows || y >= rows) return;
    global const REAL *a = from + x * width, *b = from + (rows + y) * width;
    REAL sum = 0;
    for (long i = 0; i < width; ++i) {
        const REAL difference = a[i] - b[i];
        sum += difference * difference;
    }
    to[y * rows + x] = sum;
}
