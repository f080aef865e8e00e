// Copies from OFFSET scalars further on by way of local memory, which takes the offset: loads and stores are aligned. The mend for
// unaligned accesses; costs a barrier and the loads of a halo of OFFSET.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_unaligned_tile(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL tile[LOCAL + OFFSET];
    const int item = get_local_id(0);
    const long origin = (long)get_group_id(0) * LOCAL, left = count - origin;
    global const REAL* corner = from + origin;
    if (item < left) tile[item] = corner[item];
    if (item < OFFSET && LOCAL + item < left) tile[LOCAL + item] = corner[LOCAL + item];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item + OFFSET < left) to[origin + item] = tile[item + OFFSET];
}
