// Each work-item copies SPAN adjacent scalars, one access each: neighbouring work-items are SPAN scalars apart, so that every access
// asks for SPAN times the lines that it uses. Yang 2012, V.A.2, Fig. 3a (SPAN=2), with a test for the end; its text has SPAN=4 too. No
// loss where caches keep the lines, or a compiler merges them.
#define RESTRICT
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_adjacent(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = (long)get_global_id(0) * SPAN;
    if (first >= count) return;
    REAL held[SPAN];
#pragma unroll
    for (int i = 0; i < SPAN; ++i) held[i] = from[first + i];
#pragma unroll
    for (int i = 0; i < SPAN; ++i) to[first + i] = held[i];
}
