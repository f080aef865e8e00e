// Neighbouring work-items copy neighbouring elements, AHEAD a work-item at the stride of a work-group, loads before stores. Elements
// narrower than 4 bytes or wider than 16 do not coalesce: Yang 2012, V.A.1, whose copy is AHEAD=1.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_copy(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    ELEMENT held[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < count) held[a] = LOAD_ELEMENT(from, first + (long)a * LOCAL);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < count) STORE_ELEMENT(held[a], to, first + (long)a * LOCAL);
}
