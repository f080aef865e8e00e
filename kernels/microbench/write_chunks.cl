// ITEMS work-items, each fills one contiguous chunk with a value that is data: one write stream a work-item.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_write_chunks(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = count * (long)get_global_id(0) / ITEMS, last = count * ((long)get_global_id(0) + 1) / ITEMS;
    const ELEMENT value = LOAD_ELEMENT(from, 0);
    for (long at = first; at < last; ++at) STORE_ELEMENT(value, to, at);
}
