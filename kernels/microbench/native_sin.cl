// Sines at the device's own accuracy; z from 1 to 2 keeps the argument below half a turn.
#define STEP_OF(x) (native_sin(x) + z)
#include "microbench/include/special.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_native_sin(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    to[get_global_id(0)] = sum_of_chains(from, count, trips);
}
