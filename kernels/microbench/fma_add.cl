// x = fma(x, y, z) in every second chain, w = z - w in the others: what a lane issues where additions have units of their own,
// beside those for multiply-adds (Zen 4 and 5). Elsewhere no more than multiply-adds alone.
#include "microbench/include/chains.cl"
#include "microbench/include/horizontal.cl"
#define NEXT(c) ((c) % 2 == 0 ? fma(x[c], y, z) : z - x[c])

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_fma_add(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    REALV x[CHAINS];
    const REALV y = START(CHAINS), z = (REALV)(1) - START(CHAINS + 1);
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = START(c);
    RUN_CHAINS(x[c] = NEXT(c))
#pragma unroll
    for (int c = 1; c < CHAINS; ++c) x[0] += x[c];
    to[get_global_id(0)] = horizontal_sum(x[0]);
}
