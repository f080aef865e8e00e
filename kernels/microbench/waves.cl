// One dependent chain of multiply-adds a work-item: its time is that of one work-group until all places for groups are taken.
#include "microbench/include/chains.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_waves(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    REAL x = START(0);
    const REAL y = START(1), z = 1 - START(2);
    RUN_CHAINS(x = fma(x, y, z))
    to[get_global_id(0)] = x;
}
