// Each work-item adds up a row of `width` scalars in order: neighbouring work-items are a row apart, and each load of a work-group
// asks for as many lines as it has work-items. Yang 2012, V.A.2, Fig. 3b; on CPUs one stream a core, which is what they like. The
// test for the end, long indices and the usual width of 64 are ours; the paper says only that more than 4 lose.
#define RESTRICT
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_row(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long row = get_global_id(0);
    if (row * width >= count) return;
    global const REAL* own = from + row * width;
    REAL sum = 0;
    for (long i = 0; i < width; ++i) sum += own[i];
    to[row] = sum;
}
