// LIVE values of a work-item, all updated each time round, so that all are live at once: in registers while these last, beyond in memory
// (spilled), the wall of Daga 2011, III.C. Values are independent, so that few work-items keep the units busy; with CHAINED each waits
// for the one before, and the fewer work-items that fit beside many registers show: Jang 2009, 3.3. Large work-groups leave fewer
// registers to each work-item.
#include "microbench/include/microbench.cl"
#define STARTS 16
#define PASSES (LIVE < 64 ? 64 / LIVE : 1)  // over all values in a trip: its overhead is that of 64 updates at least
#define START(i) from[((uint)get_global_id(0) + (i)) % STARTS]
#if CHAINED
#define TERMS 2
#define UPDATED(i) fma(x[i], y, fma(x[(i + LIVE - 1) % LIVE], w, z))
#else
#define TERMS 1
#define UPDATED(i) fma(x[i], y, z)
#endif

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_registers(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    REAL x[LIVE];  // every index is a constant once loops are unrolled: scalars, no array
    const REAL y = START(1) / TERMS, z = 1 - START(3);
#if CHAINED
    const REAL w = START(2) / TERMS;
#endif
    // No two begin alike, as far as a compiler knows: it would keep one for both.
#pragma unroll
    for (int i = 0; i < LIVE; ++i) x[i] = START(i) * ((REAL)(512 + i) / 512);
    for (int trip = 0; trip < trips; ++trip) {
#pragma unroll
        for (int pass = 0; pass < PASSES; ++pass) {
#pragma unroll
            for (int i = 0; i < LIVE; ++i) x[i] = UPDATED(i);
        }
    }
    REAL sum = 0;
#pragma unroll
    for (int i = 0; i < LIVE; ++i) sum += x[i];
    to[get_global_id(0)] = sum;
}
