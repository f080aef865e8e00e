// Squared distances of every row of A (the source's first half) from every row of B, one a work-item, with no local memory: how well a
// cache serves both depends on the shape of work-groups. MATH > 0 is the activation matrix of GPUMLib, Yang 2012, V.B.3, Fig. 8: its
// loop stands here as printed, idnx for A's rows and idny for B's. The listing ends in "..."; exp of the sum over a scale is our reading
// (one scale for all, 2^24, which the sums of the data reach). CUDA's pow(float, 2) of an int may be pown: both are here. Ours are the
// test for the edges, the place written, and indices of 64 bits.
#define RESTRICT
#include "microbench/include/microbench.cl"

#if MATH == 0
#define SQUARE(difference) ((difference) * (difference))
#elif MATH == 3
#define SQUARE(difference) pown(difference, 2)
#else
#define SQUARE(difference) pow(difference, (REAL)2)
#endif
#define SCALE ((REAL)(1 << 24))

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void microbench_cache_reuse(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long rows = count / 2 / width, idnx = get_global_id(0), idny = get_global_id(1);
    if (idnx >= rows || idny >= rows) return;
    global const REAL *A = from, *B = from + rows * width;
    REAL temp = 0;
    for (long i = 0; i < width; i++) {
        const REAL a = A[idnx * width + i], b = B[idny * width + i];
        temp += SQUARE(a - b);
    }
    to[idny * rows + idnx] = MATH >= 2 ? exp(-(temp / SCALE)) : temp;
}
