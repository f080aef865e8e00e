// ITEMS work-items, each adds up one contiguous chunk with AHEAD independent sums: what a CPU core reads at.
#include "microbench/include/microbench.cl"
#include "microbench/include/horizontal.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_read_chunks(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = count * (long)get_global_id(0) / ITEMS, last = count * ((long)get_global_id(0) + 1) / ITEMS;
    REALV sums[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) sums[a] = (REALV)(0);
    long at = first;
    for (; at + AHEAD <= last; at += AHEAD)
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) sums[a] += LOAD_ELEMENT(from, at + a);
    for (; at < last; ++at) sums[0] += LOAD_ELEMENT(from, at);
#pragma unroll
    for (int a = 1; a < AHEAD; ++a) sums[0] += sums[a];
    const REAL total = horizontal_sum(sums[0]);
    if (store || UNLIKELY(total)) to[get_global_id(0)] = total;
}
