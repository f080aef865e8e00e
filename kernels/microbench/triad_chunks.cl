// a = b + s c in ITEMS contiguous chunks, one a work-item: b is the first half of the source, c the second, s its first scalar.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_triad_chunks(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long half_count = count / 2;
    const long first = half_count * (long)get_global_id(0) / ITEMS, last = half_count * ((long)get_global_id(0) + 1) / ITEMS;
    const REAL scale = from[0];
    for (long at = first; at < last; ++at)
        STORE_ELEMENT(LOAD_ELEMENT(from, at) + scale * LOAD_ELEMENT(from, half_count + at), to, at);
}
