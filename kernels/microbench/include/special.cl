// x = f(x) + z in all chains: the kernel that includes this says STEP_OF(x), a contraction for x and z from 1 to 2.
#include "microbench/include/chains.cl"
#include "microbench/include/horizontal.cl"

inline REAL sum_of_chains(FROM_GLOBAL, const long count, const int trips) {
    REALV x[CHAINS];
    const REALV z = START(CHAINS);
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = START(c);
    RUN_CHAINS(x[c] = STEP_OF(x[c]))
#pragma unroll
    for (int c = 1; c < CHAINS; ++c) x[0] += x[c];
    return horizontal_sum(x[0]);
}
