// Sum of the lanes of a REALV.
#include "common/real.cl"

inline REAL horizontal_sum(REALV v) {
    REAL lanes[WIDTH];
    VSTORE(v, lanes);
    REAL sum = 0;
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) sum += lanes[i];
    return sum;
}
