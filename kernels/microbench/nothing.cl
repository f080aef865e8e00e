// One work-item copies one scalar: what is left is the launch.
#include "microbench/include/microbench.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void microbench_nothing(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) { to[0] = from[0]; }
