// Each work-item copies SPAN adjacent scalars as one vector: the mend for adjacent accesses. Yang 2012, V.A.2.
#define RESTRICT
#include "microbench/include/microbench.cl"
#define SPANNED PASTE(REAL, SPAN)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_adjacent_vector(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0);
    if (item * SPAN < count) ((global SPANNED*)to)[item] = ((global const SPANNED*)from)[item];
}
