// Narrow elements by 16 bytes: a work-item takes what several would take, as one load and one store, and has each element in
// a register in between. The mend for data types below float: Yang 2012, V.A.1.
#include "microbench/include/microbench.cl"
#define PACK (16 / (int)sizeof(REAL))

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_copy_packed(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0);
    if (item * PACK >= count) return;
    union {
        uint4 packed;
        REAL element[PACK];
    } held;
    held.packed = ((global const uint4*)from)[item];
    ((global uint4*)to)[item] = held.packed;
}
