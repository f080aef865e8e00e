// All work-items re-read one small block of constant memory, a group's items all the same address (UNIFORM) or neighbouring ones,
// which the constant cache of a GPU serves one after another. Yang 2012, V.D, Fig. 13, where all work-items read the same small data over
// and over; whether at one address at a time is not said.
#include "microbench/include/reread.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_constant(MICROBENCH_ARGUMENTS(FROM_CONSTANT)) {
    constant const REALV* elements = (constant const REALV*)from;
    const uint limit = (uint)count - AHEAD + 1, step = AHEAD % limit;
    uint at = ((uint)get_group_id(0) * AHEAD + (UNIFORM ? 0 : (uint)get_local_id(0))) % limit;
    // Sums differ between items even where their loads do not: no compiler may take one sum for all of them.
    REALV sum = (REALV)(from[(uint)get_global_id(0) % ((uint)count * WIDTH)]);
    for (int trip = 0; trip < trips; ++trip) {
        REALV held[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) held[a] = elements[at + a];
        sum += sum_of(held);
        at += step;
        if (at >= limit) at -= limit;
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
