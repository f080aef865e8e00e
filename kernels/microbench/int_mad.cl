// x = x y + z, then y = y x + w, in registers: two multiply-adds a step that wait for each other.
#include "microbench/include/integer_chains.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_int_mad(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    WORDV x[CHAINS], y[CHAINS];
    const WORDV z = AS_WORDS(START(CHAINS)), w = AS_WORDS(START(CHAINS + 1));
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) {
        x[c] = AS_WORDS(START(c));
        y[c] = AS_WORDS(START(c + 1));
    }
    RUN_CHAINS(x[c] = x[c] * y[c] + z; y[c] = y[c] * x[c] + w)
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[0] = (c > 0 ? x[0] + x[c] : x[0]) + y[c];
    to[get_global_id(0)] = horizontal_sum(AS_STORED(x[0]));
}
