// Each work-item adds what lies DELTA after it, its own and what lies DELTA before it: neighbours load the same scalars by different
// instructions, unaligned. The loads are those of Yang 2012, V.A.2, Fig. 3c, 16 scalars further on; what is done with the three is not
// printed, and adding them is our reading, as is the test for the end. Caches make it harmless.
#define RESTRICT
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_shared(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0), at = item + 16;
    if (at + 16 >= count) return;
    const REAL a_0 = from[at + DELTA], a_1 = from[at], a_2 = from[at - DELTA];
    to[item] = a_0 + a_1 + a_2;
}
