// The three points of `shared` from a local tile with a halo of 16 at both ends: each scalar is loaded once a work-group,
// the 32 of the halo by two groups, all aligned. The mend of Yang 2012, V.A.2, of which no listing is printed. Costs a barrier, and pays
// only without a cache between work-items and memory.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_shared_tile(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL tile[LOCAL + 32];
    const int item = get_local_id(0);
    const long origin = (long)get_group_id(0) * LOCAL, left = count - origin;
    global const REAL* corner = from + origin;
    if (item < left) tile[item] = corner[item];
    if (item < 32 && LOCAL + item < left) tile[LOCAL + item] = corner[LOCAL + item];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item + 32 < left) to[origin + item] = tile[item + 16 - DELTA] + tile[item + 16] + tile[item + 16 + DELTA];
}
