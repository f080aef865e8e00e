// D = A B + D on NVIDIA's tensor cores (PTX), CHAINS accumulators D of 16 x 8 a warp of 32 work-items. The kernel that includes this
// names the instruction by MMA, and by ONES and SIGNS what 1 and its sign are in a word of A and B. Elements of A and B are 1 or -1 by
// bits of the source and those of D whole numbers: nothing is rounded below 2^24, however the unit rounds.
#include "microbench/include/chains.cl"
#define BITS(i) as_uint(START(i))
#define SIGNED_ONES(i) (ONES ^ (BITS(i) << 14 & SIGNS))
#define MULTIPLY_ADD(d)                                                                                         \
    asm("mma.sync.aligned." MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
        : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])                                                \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

inline REAL sum_of_tiles(FROM_GLOBAL, const long count, const int trips) {
    const uint a[4] = {SIGNED_ONES(0), SIGNED_ONES(1), SIGNED_ONES(2), SIGNED_ONES(3)};
    const uint b[2] = {SIGNED_ONES(4), SIGNED_ONES(5)};
    float tile[CHAINS][4];
#pragma unroll
    for (int c = 0; c < CHAINS; ++c)
#pragma unroll
        for (int j = 0; j < 4; ++j) tile[c][j] = (float)((BITS(c) & 255) + j);
    RUN_CHAINS(MULTIPLY_ADD(tile[c]))
    float sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) sum += (tile[c][0] + tile[c][1]) + (tile[c][2] + tile[c][3]);
    return sum;
}
