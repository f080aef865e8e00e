// Every work-group walks through all of the working set, AHEAD blocks of LOCAL elements a trip, from a scattered place and at one of
// eight paces: groups on one compute unit do not follow each other, so that what exceeds its own cache comes from the next level.
#include "microbench/include/reread.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_reread(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const uint group = get_group_id(0), item = get_local_id(0);
    // Whole blocks, so that loads stay aligned; what is left of the source beyond them is not read.
    const uint blocks = (uint)(count / LOCAL), limit = blocks >= AHEAD ? blocks - AHEAD + 1 : 1;
    const uint step = AHEAD * (2 * (group % 8) + 1) % limit;
    uint block = (group * 2654435761u >> 7) % limit;
    REALV sum = (REALV)(0);
    if (blocks >= AHEAD) {
        for (int trip = 0; trip < trips; ++trip) {
            REALV held[AHEAD];
            const long first = (long)block * LOCAL + item;
#pragma unroll
            for (int a = 0; a < AHEAD; ++a) held[a] = LOAD_ELEMENT(from, first + a * LOCAL);
            sum += sum_of(held);
            block += step;
            if (block >= limit) block -= limit;
        }
    } else {  // less than one trip's blocks: round and round
        const uint few = (uint)count, leap = LOCAL % few;
        uint at = item % few;
        for (int trip = 0; trip < trips; ++trip)
#pragma unroll
            for (int a = 0; a < AHEAD; ++a) {
                sum += LOAD_ELEMENT(from, at);
                at += leap;
                if (at >= few) at -= few;
            }
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
