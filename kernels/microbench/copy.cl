// Neighbouring work-items copy neighbouring WIDTH-vectors, AHEAD a work-item at the stride of a work-group, loads before stores.
#include "common/real.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_copy(global const REAL* restrict from, global REAL* restrict to,
                                                                               const long vectors, const int store) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    REALV held[AHEAD];
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < vectors) held[a] = VLOAD(from + (first + (long)a * LOCAL) * WIDTH);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < vectors) VSTORE(held[a], to + (first + (long)a * LOCAL) * WIDTH);
}
