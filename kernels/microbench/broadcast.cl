// All work-items of a group load the same RUN scalars at the same time, a trip each run, and add them to a number of their own. Counts
// what every work-item asks for; a group g begins at run g and moves on by one a trip. Stores the sums on request.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_broadcast(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long runs = count / RUN;
    long run = (long)get_group_id(0) % runs;
    REAL sum = get_local_id(0);  // differs by work-item: else the sum of one would do for all
    for (int trip = 0; trip < trips; ++trip) {
        global const REAL* same = from + run * RUN;
#pragma unroll 8
        for (int i = 0; i < RUN; ++i) sum += same[i];
        run = run + 1 == runs ? 0 : run + 1;
    }
    if (store || UNLIKELY(sum)) to[get_global_id(0)] = sum;
}
