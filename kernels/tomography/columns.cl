// For CPUs, of upright scans: ACROSS columns of voxels along z a work-item, their sums in its own memory over many views. Views lie
// transposed, with zeros around them, so that a column meets two lines of pixels: these are blended first, in vectors and once for all
// its voxels, of which each then takes two neighbours in one load instead of four taps. Loses where pixels are much smaller than voxels.
#define COLUMNV float
#ifndef WIDTH
#define WIDTH 16
#endif
#include "tomography/include/tomography.cl"
#ifndef Z
#define Z 128
#endif
#ifndef ACROSS
#define ACROSS 16
#endif
#ifndef LINE  // elements of a view's transposed row, zeros included
#define LINE 128
#endif
#define LANES_8 0, 1, 2, 3, 4, 5, 6, 7
#define LANES_16 LANES_8, 8, 9, 10, 11, 12, 13, 14, 15
#define LANES ((REALV)(PASTE(LANES_, WIDTH)))

inline REALV weights_at(const Column at, const REALV steps) {
#if WEIGHT == 2
    const REALV height = fma(steps, (REALV)(at.height_step), (REALV)(at.height));
    return at.weight * sqrt(fma(height, height, (REALV)(at.across)));
#else
    return (REALV)(at.weight);
#endif
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void tomography_columns(
    BACK_ARGUMENTS(global const float *restrict projections)) {
    const int x = (int)get_global_id(0) * ACROSS, y = get_global_id(1), z = (int)get_global_id(2) * Z;
    const float fy = FROM_MIDDLE(y, ny), fz = FROM_MIDDLE(z, nz);
    const int some = min(ACROSS, nx - x), high = min(Z, nz - z);
    const float2 middle = (float2)(0.5f * (columns - 1), 0.5f * (rows - 1));
    const size_t view_size = (size_t)(columns + 3) * LINE;
    global const float *restrict view = projections + first * view_size + LINE + 1;  // its first pixel
    float sums[ACROSS][Z];
    for (int across = 0; across < ACROSS; ++across)
        for (int k = 0; k < Z; k += WIDTH) VSTORE((REALV)(0), sums[across] + k);
    float blend[LINE + 2 * WIDTH];
    for (int i = 0; i < count; ++i, view += view_size) {
        for (int across = 0; across < some; ++across) {
            const Column at = column_of(views + i * VIEW_FLOATS, FROM_MIDDLE(x + across, nx), fy, fz, 1, middle, cell);
            const float u = fmin(fmax(at.u, -1.0f), (float)columns), left = floor(u), right = u - left;
            const float end = fma((float)(high - 1), at.v_step, at.v);
            const float bottom = fmin(fmax(fmin(at.v, end), -1.0f), (float)rows), top = fmin(fmax(fmax(at.v, end), -1.0f), (float)rows);
            const int lowest = (int)floor(bottom), needed = (int)floor(top) - lowest + 2;
            global const float *restrict line = view + (int)left * LINE + lowest;
            for (int j = 0; j < needed; j += WIDTH) {
                const REALV a = VLOAD(line + j), b = VLOAD(line + j + LINE);
                VSTORE(fma((REALV)(right), b - a, a), blend + j);
            }
            for (int k = 0; k < high; k += WIDTH) {
                const REALV steps = LANES + (float)k;
                const REALV v = fmin(fmax(fma(steps, (REALV)(at.v_step), (REALV)(at.v)), (REALV)(bottom)), (REALV)(top)) - lowest;
                const REALV row = floor(v), down = v - row;
                int place[WIDTH];
                float pairs[2 * WIDTH];
                PASTE(vstore, WIDTH)(PASTE(convert_int, WIDTH)(row), 0, place);
#pragma unroll
                for (int lane = 0; lane < WIDTH; ++lane) vstore2(vload2(0, blend + place[lane]), lane, pairs);
                const REALV lower = VLOAD(pairs), upper = VLOAD(pairs + WIDTH);
                const REALV a = (REALV)(lower.even, upper.even), b = (REALV)(lower.odd, upper.odd);
                VSTORE(fma(weights_at(at, steps), fma(down, b - a, a), VLOAD(sums[across] + k)), sums[across] + k);
            }
        }
    }
    global float *to = volume + ((size_t)z * ny + y) * nx + x;
    for (int k = 0; k < high; ++k, to += (size_t)nx * ny)
        for (int across = 0; across < some; ++across) to[across] = (accumulate ? to[across] : 0) + sums[across][k];
}
