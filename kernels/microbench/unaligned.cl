// Copies from OFFSET scalars further on: loads of a work-group begin off the line unless OFFSET is 0, stores are aligned. Costs a line
// more a work-group of lanes, which a cache gives to the next one. Yang 2012, V.A.2.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_unaligned(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0);
    if (item + OFFSET < count) to[item] = from[item + OFFSET];
}
