// Narrow elements by BYTES: a work-item takes what several would take, as one load and one store, and copies them one by one in
// registers, which a compiler may see through. The mend for data types below float: Yang 2012, V.A.1, whose loads are floats (BYTES=4);
// 16 are ours, or 8.
#include "microbench/include/microbench.cl"
#define PACK (BYTES / (int)sizeof(REAL))
#if BYTES == 4
#define PACKED uint
#elif BYTES == 8
#define PACKED uint2
#else
#define PACKED uint4
#endif

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_copy_packed(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const long item = get_global_id(0);
    if (item * PACK >= count) return;
    union {
        PACKED packed;
        REAL element[PACK];
    } loaded, stored;
    loaded.packed = ((global const PACKED*)from)[item];
#pragma unroll
    for (int i = 0; i < PACK; ++i) stored.element[i] = loaded.element[i];
    ((global PACKED*)to)[item] = stored.packed;
}
