// Copies an array of rows, one scalar a work-item: the shape of work-groups says how long the runs of addresses are. Yang 2012, V.B.1:
// LOCAL_X must span the lanes that coalesce together. Index arithmetic keeps it below the one-dimensional copy. The paper prints no
// listing; the test for the edge, the division that finds the number of rows, 64-bit indices and the loop over rows, for more of them than
// a launch has groups, are ours.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_copy2d(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long x = get_global_id(0), rows = count / width;
    if (x >= width) return;
    for (long y = get_global_id(1); y < rows; y += get_global_size(1)) to[y * width + x] = from[y * width + x];
}
