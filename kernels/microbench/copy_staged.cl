// Wide structs through local memory: the work-group moves its structs as coalesced vectors of VIA scalars, each work-item has
// its own struct in between. The mend for data types above float4: Yang 2012, V.A.1,
// which says how they are loaded; storing back through local memory and the second barrier are ours. Costs both and local memory.
#include "microbench/include/microbench.cl"
#define VECTOR PASTE(REAL, VIA)
#if VIA == 1
#undef VECTOR
#define VECTOR REAL
#endif

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_copy_staged(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local VECTOR staged[LOCAL * WIDTH / VIA];
    const int item = get_local_id(0);
    const long first = (long)get_group_id(0) * LOCAL, vectors = min((long)LOCAL, count - first) * WIDTH / VIA;
    const long origin = first * WIDTH / VIA;
    for (int i = item; i < vectors; i += LOCAL) staged[i] = ((global const VECTOR*)from)[origin + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    REAL own[WIDTH];
    for (int i = 0; i < WIDTH; ++i) own[i] = ((local const REAL*)staged)[item * WIDTH + i];
    for (int i = 0; i < WIDTH; ++i) ((local REAL*)staged)[item * WIDTH + i] = own[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < vectors; i += LOCAL) ((global VECTOR*)to)[origin + i] = staged[i];
}
