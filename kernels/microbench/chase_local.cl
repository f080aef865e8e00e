// A work-group copies a random cycle to local memory, then its first item follows it. The copy is a constant cost: compare trips.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void microbench_chase_local(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REAL block[BLOCK];
    for (int i = get_local_id(0); i < count; i += 64) block[i] = from[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) > 0) return;
    REAL at = 0;
    for (int trip = 0; trip < trips; ++trip) at = block[at];
    to[0] = at;
}
