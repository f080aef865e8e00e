// ITEMS work-items, each reads one contiguous chunk again and again with AHEAD independent sums: what a CPU core gets from each of its
// caches, by working set. A pass starts AHEAD elements after the one before, so that passes are no loop invariant.
#include "microbench/include/horizontal.cl"
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_reread_chunks(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = count * (long)get_global_id(0) / ITEMS, last = count * ((long)get_global_id(0) + 1) / ITEMS;
    const long strides = (last - first) / AHEAD;
    long turn = 0;
    REALV sums[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) sums[a] = (REALV)(0);
    for (int trip = 0; trip < trips; ++trip) {
        const long middle = first + turn * AHEAD;
        for (int part = 0; part < 2; ++part) {
            const long end = part ? middle : last;
            long at = part ? first : middle;
            for (; at + AHEAD <= end; at += AHEAD)
#pragma unroll
                for (int a = 0; a < AHEAD; ++a) sums[a] += LOAD_ELEMENT(from, at + a);
            for (; at < end; ++at) sums[0] += LOAD_ELEMENT(from, at);
        }
        if (++turn >= strides) turn = 0;
    }
#pragma unroll
    for (int a = 1; a < AHEAD; ++a) sums[0] += sums[a];
    to[get_global_id(0)] = horizontal_sum(sums[0]);
}
