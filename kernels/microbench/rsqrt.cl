// Reciprocal square roots at the standard's accuracy.
#define STEP_OF(x) (rsqrt(x) + z)
#include "microbench/include/special.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_rsqrt(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    to[get_global_id(0)] = sum_of_chains(from, count, trips);
}
