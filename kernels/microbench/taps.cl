// What image2d does with LINEAR, from a buffer: means of four pixels by loads, of LANES places at once, at odd quarters between pixels.
// The ceiling of what interpolates without a texture unit.
#define WIDTH LANES
#include "common/bilinear.cl"
#include "microbench/include/reread.cl"
#if LANES == 1
#define PLACES 0
#else
#define PLACES ((REALV)(PASTE(PLACES_, LANES)))
#endif
#define PLACES_4 0, 1.5f, 3, 4.5f
#define PLACES_8 PLACES_4, 6, 7.5f, 9, 10.5f
#define PLACES_16 PLACES_8, 12, 13.5f, 15, 16.5f, 18, 19.5f, 21, 22.5f

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_taps(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const int columns = (int)width, rows = (int)(count / width), across = 4 % columns, down = 3 % rows;
    const uint group = get_group_id(0), item = get_local_id(0);
    int x = (int)((5 * group + item % 16) % (uint)columns), y = (int)((3 * group + item / 16) % (uint)rows);
    REALV sum = (REALV)(0);
    for (int trip = 0; trip < trips; ++trip) {
        REALV held[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const REALV u = (REALV)(x + (a % 4 * 0.5f + 0.25f)) + PLACES, v = (REALV)(y + (a / 4 * 1.5f + 0.25f));
            const REALV right = fmin(fmax(u, (REALV)(0)), (REALV)(columns - 1.75f));
            held[a] = bilinear(from, right, fmin(fmax(v, (REALV)(0)), (REALV)(rows - 1.75f)), columns);
        }
        sum += sum_of(held);
        x += across;
        y += down;
        if (x >= columns) x -= columns;
        if (y >= rows) y -= rows;
    }
    to[get_global_id(0)] = horizontal_sum(sum);
}
