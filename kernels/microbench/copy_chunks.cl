// ITEMS work-items, each copies one contiguous chunk: one read and one write stream a work-item.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_copy_chunks(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = count * (long)get_global_id(0) / ITEMS, last = count * ((long)get_global_id(0) + 1) / ITEMS;
    for (long at = first; at < last; ++at) STORE_ELEMENT(LOAD_ELEMENT(from, at), to, at);
}
