// All work-items re-read the pixels (4 floats) of a buffer as a one-dimensional image: the texture path without its two dimensions.
// Yang 2012, V.D, Fig. 13, does not say which texture, of which size and how wide: all three are ours.
#define WIDTH 4
#include "microbench/include/reread.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_image1d(
    MICROBENCH_ARGUMENTS(read_only image1d_buffer_t from)) {
    const int limit = (int)(count / 4) - AHEAD + 1, step = AHEAD % limit;
    int at = (int)(((uint)get_group_id(0) * AHEAD + (uint)get_local_id(0)) % (uint)limit);
    float4 sum = (float4)(0);
    for (int trip = 0; trip < trips; ++trip) {
        float4 held[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) held[a] = read_imagef(from, at + a);
        sum += sum_of(held);
        at += step;
        if (at >= limit) at -= limit;
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
