// Neighbouring work-items store neighbouring elements, AHEAD a work-item at the stride of a work-group; the value is data.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_write(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    const ELEMENT value = LOAD_ELEMENT(from, 0);
#pragma unroll
    for (int a = 0; a < AHEAD; ++a)
        if (first + (long)a * LOCAL < count) STORE_ELEMENT(value, to, first + (long)a * LOCAL);
}
