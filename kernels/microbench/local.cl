// Each work-group copies a block to local memory, then re-reads it; neighbours read STRIDE elements apart, so that STRIDE * WIDTH > 1
// scalars meet in fewer banks. The copy is not counted: it takes many trips to hide it. With STRIDE=1 the local memory of Yang 2012, V.D,
// Fig. 13, as we read it: neighbours read neighbours.
#include "microbench/include/reread.cl"
#define LENGTH (BLOCK / WIDTH)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_local(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    local REALV block[LENGTH + AHEAD];
    for (uint i = get_local_id(0); i < LENGTH + AHEAD; i += LOCAL) block[i] = LOAD_ELEMENT(from, i % (uint)count);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = ((uint)get_group_id(0) + (uint)get_local_id(0) * STRIDE) % LENGTH;
    REALV sum = (REALV)(0);
    for (int trip = 0; trip < trips; ++trip) {
        REALV held[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) held[a] = block[at + a];
        sum += sum_of(held);
        at = (at + AHEAD) % LENGTH;
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
