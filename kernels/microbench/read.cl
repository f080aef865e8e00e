// Neighbouring work-items load neighbouring elements, AHEAD a work-item at the stride of a work-group; stores its sum on request.
#include "microbench/include/microbench.cl"
#include "microbench/include/horizontal.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_read(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    REALV sum = (REALV)(0);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
        const long at = first + (long)a * LOCAL;
        if (at < count) sum += LOAD_ELEMENT(from, at);
    }
    const REAL total = horizontal_sum(sum);
    if (store || UNLIKELY(total)) to[get_global_id(0)] = total;
}
