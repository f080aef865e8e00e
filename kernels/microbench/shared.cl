// Each work-item adds what lies DELTA before it, its own and what lies DELTA after it: neighbours load the same scalars by different
// instructions, unaligned. 16 scalars at each end are left out, as in Yang 2012, V.A.2, Fig. 3c. Caches make it harmless.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_shared(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0), at = item + 16;
    if (at + 16 < count) to[item] = from[at - DELTA] + from[at] + from[at + DELTA];
}
