// The naive kernel with UNROLL steps of the sum at once, their loads before their multiply-adds: fewer branches and more loads in flight
// for more registers; a load of A and one of B for each multiply-add all the same. Jang 2009, 4.1.1.
#include "gemm/include/fetch.cl"

#if PAIRS
#define NEXT_A(i) FETCH_A(index_a.x + (i), index_a.y)
#define NEXT_B(i) FETCH_B(index_b.x, index_b.y + (i))
#define ADVANCE(steps)         \
    index_a += (steps)*step_a; \
    index_b += (steps)*step_b;
#else
#define NEXT_A(i) FETCH_A(k + (i), m + FIRST_ROW)
#define NEXT_B(i) FETCH_B(n, k + (i))
#define ADVANCE(steps) k += (steps);
#endif

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_unrolled(GEMM_ARGUMENTS STREAMS) {
    GEMM_BATCH
    const long n = get_global_id(0), m = get_global_id(1);
    if (m >= M || n >= N) return;
#if PAIRS
    INDEX_PAIRS
#else
    int k = 0;
#endif
    REAL sum = 0;
    int i0 = K;
#pragma unroll 1
    for (; i0 >= UNROLL; i0 -= UNROLL) {
        REAL of_a[UNROLL], of_b[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            of_a[i] = NEXT_A(i);
            of_b[i] = NEXT_B(i);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) sum = fma(of_a[i], of_b[i], sum);
        ADVANCE(UNROLL)
    }
#pragma unroll 1
    for (; i0 > 0; --i0) {
        sum = fma((REAL)NEXT_A(0), (REAL)NEXT_B(0), sum);
        ADVANCE(1)
    }
    STORE(m, n, sum);
}
