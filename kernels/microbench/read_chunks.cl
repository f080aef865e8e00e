// ITEMS work-items, each adds up one contiguous chunk with four independent sums: what a CPU core reads at.
#include "common/horizontal.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_read_chunks(global const REAL* restrict from, global REAL* restrict to,
                                                                                  const long vectors, const int store) {
    const long first = vectors * (long)get_global_id(0) / ITEMS, last = vectors * ((long)get_global_id(0) + 1) / ITEMS;
    REALV a = (REALV)(0), b = (REALV)(0), c = (REALV)(0), d = (REALV)(0);
    long at = first;
    for (; at + 4 <= last; at += 4) {
        a += VLOAD(from + at * WIDTH);
        b += VLOAD(from + (at + 1) * WIDTH);
        c += VLOAD(from + (at + 2) * WIDTH);
        d += VLOAD(from + (at + 3) * WIDTH);
    }
    for (; at < last; ++at) a += VLOAD(from + at * WIDTH);
    const REAL total = horizontal_sum((a + b) + (c + d));
    if (store || total == (REAL)-1.2345e30f) to[get_global_id(0)] = total;
}
