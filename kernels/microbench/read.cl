// Neighbouring work-items load neighbouring WIDTH-vectors, AHEAD a work-item at the stride of a work-group; stores its sum on request.
#include "common/horizontal.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_read(global const REAL* restrict from, global REAL* restrict to,
                                                                               const long vectors, const int store) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    REALV sum = (REALV)(0);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
        const long at = first + (long)a * LOCAL;
        if (at < vectors) sum += VLOAD(from + at * WIDTH);
    }
    const REAL total = horizontal_sum(sum);
    // No input of ordinary data sums to this; the compiler cannot know and must load everything.
    if (store || total == (REAL)-1.2345e30f) to[get_global_id(0)] = total;
}
