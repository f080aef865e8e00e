// All work-items re-read an image, a patch of 4 x AHEAD/4 pixels a trip, a work-group 16 wide. With LINEAR at odd quarters between
// pixels, where the texture unit's 8-bit weights are exact. Yang 2012, V.D, Fig. 13, does not say which
// texture, of which size and how wide: all three are ours.
#define WIDTH CHANNELS
#include "microbench/include/reread.cl"
#if LINEAR
#define FILTER CLK_FILTER_LINEAR
#define OFFSET(n) ((n)*1.5f + 0.75f)
#else
#define FILTER CLK_FILTER_NEAREST
#define OFFSET(n) ((n) + 0.5f)
#endif
#if CHANNELS == 1
#define PIXEL(read) (read).x
#else
#define PIXEL(read) (read)
#endif

constant sampler_t pixels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | FILTER;

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_image2d(MICROBENCH_ARGUMENTS(read_only image2d_t from)) {
    const int columns = (int)(width / CHANNELS), rows = (int)(count / width), across = 4 % columns, down = 3 % rows;
    const uint group = get_group_id(0), item = get_local_id(0);
    int x = (int)((5 * group + item % 16) % (uint)columns), y = (int)((3 * group + item / 16) % (uint)rows);
    REALV sum = (REALV)(0);
    for (int trip = 0; trip < trips; ++trip) {
        REALV held[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) held[a] = PIXEL(read_imagef(from, pixels, (float2)(x + OFFSET(a % 4), y + OFFSET(a / 4))));
        sum += sum_of(held);
        x += across;
        y += down;
        if (x >= columns) x -= columns;
        if (y >= rows) y -= rows;
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
