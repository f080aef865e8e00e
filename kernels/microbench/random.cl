// Each work-item adds AHEAD scalars from places that a permutation of all numbers below `count` scatters, and stores its sum on request:
// a line a scalar, nothing to prefetch. A hash permutes the numbers of as many bits; it is taken again until it lands below `count`.
#include "microbench/include/microbench.cl"

inline uint scattered(uint place, uint bits, uint count) {
    const uint mask = (1u << bits) - 1, shift = (bits + 1) / 2;
    do {
        place = place * 0x9E3779B1u & mask;
        place ^= place >> shift;
        place = place * 0x85EBCA77u & mask;
        place ^= place >> shift;
        place = place * 0xC2B2AE3Du & mask;
    } while (place >= count);
    return place;
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_random(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    const uint scalars = (uint)count, bits = 32 - clz(scalars - 1);
    uint places[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < count) places[a] = scattered((uint)(first + (long)a * LOCAL), bits, scalars);
    REAL sum = 0;
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < count) sum += from[places[a]];
    if (store || UNLIKELY(sum)) to[get_global_id(0)] = sum;
}
