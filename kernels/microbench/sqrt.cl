// Square roots at the standard's accuracy.
#define STEP_OF(x) (sqrt(x) + z)
#include "microbench/include/special.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_sqrt(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    to[get_global_id(0)] = sum_of_chains(from, count, trips);
}
