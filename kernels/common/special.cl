// x = f(x) + z in all chains: the kernel that includes this says STEP_OF(x), a contraction for x, y and z from 1 to 2.
#include "common/chains.cl"
#include "common/horizontal.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void SPECIAL(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    REALV x[CHAINS];
    const REALV y = START(CHAINS), z = START(CHAINS + 1);
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = START(c);
    RUN_CHAINS(x[c] = STEP_OF(x[c]))
#pragma unroll
    for (int c = 1; c < CHAINS; ++c) x[0] += x[c];
    to[get_global_id(0)] = horizontal_sum(x[0]);
}
