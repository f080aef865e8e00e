// One work-item follows a random cycle through global memory: the latency of whatever level holds the cycle, address arithmetic included.
// A timed run goes on where the last one ended, else runs shorter than the cycle would find their own part of it in a cache.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_chase(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    REAL at = store ? 0 : to[0] % (REAL)count;
    for (int trip = 0; trip < trips; ++trip) at = from[at];
    to[0] = at;
}
