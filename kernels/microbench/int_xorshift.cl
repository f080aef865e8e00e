// Three shifts and exclusive ors a step (Marsaglia 2003), in registers.
#include "microbench/include/integer_chains.cl"
#define BY(in_32_bits, in_64_bits) (sizeof(REAL) == 4 ? (in_32_bits) : (in_64_bits))

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_int_xorshift(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    WORDV x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = AS_WORDS(START(c));
    RUN_CHAINS(x[c] ^= x[c] << BY(13, 13); x[c] ^= x[c] >> BY(17, 7); x[c] ^= x[c] << BY(5, 17))
#pragma unroll
    for (int c = 1; c < CHAINS; ++c) x[0] += x[c];
    to[get_global_id(0)] = horizontal_sum(AS_STORED(x[0]));
}
