// Neighbouring work-items load scalars STRIDE apart, AHEAD each, and add; row y of work-items takes those that begin at scalar y, so
// that the launch loads each once. Stores its sum on request. Wastes up to all but one scalar of a line.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_strided(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long row = get_global_id(1), length = count / STRIDE + (row < count % STRIDE);
    const long first = (long)get_group_id(0) * LOCAL * AHEAD + get_local_id(0);
    global const REAL* own = from + row;
    REAL sum = 0;
#pragma unroll
    for (int a = 0; a < AHEAD; ++a) {
        const long at = first + (long)a * LOCAL;
        if (at < length) sum += own[at * STRIDE];
    }
    if (store || UNLIKELY(sum)) to[get_global_id(1) * get_global_size(0) + get_global_id(0)] = sum;
}
