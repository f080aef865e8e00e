// ITEMS work-items, each copies one contiguous chunk: one read and one write stream a work-item.
#include "common/real.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_copy_chunks(global const REAL* restrict from, global REAL* restrict to,
                                                                                  const long vectors, const int store) {
    const long first = vectors * (long)get_global_id(0) / ITEMS, last = vectors * ((long)get_global_id(0) + 1) / ITEMS;
    for (long at = first; at < last; ++at) VSTORE(VLOAD(from + at * WIDTH), to + at * WIDTH);
}
