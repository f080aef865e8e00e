// Blocks read again and again: a trip is AHEAD independent loads, added as a tree so that only one addition a trip waits for the trip
// before. The data are small whole numbers, so any order gives the same sum. Addresses move with the trip: no load can be hoisted.
#include "microbench/include/horizontal.cl"
#include "microbench/include/microbench.cl"

inline REALV sum_of(REALV* held) {
#pragma unroll
    for (int kept = AHEAD / 2; kept > 0; kept /= 2)
#pragma unroll
        for (int a = 0; a < kept; ++a) held[a] += held[a + kept];
    return held[0];
}
