// a = b + s c: b is the first half of the source, c the second, s its first scalar; AHEAD elements a work-item.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_triad(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long half_count = count / 2, first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    const REAL scale = from[0];
    REALV b[AHEAD], c[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < half_count) {
            b[a] = LOAD_ELEMENT(from, first + (long)a * LOCAL);
            c[a] = LOAD_ELEMENT(from, half_count + first + (long)a * LOCAL);
        }
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < half_count) STORE_ELEMENT(b[a] + scale * c[a], to, first + (long)a * LOCAL);
}
