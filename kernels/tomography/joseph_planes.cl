// The exact adjoint of scans in a plane, for CPUs. A work-item owns PLANES planes across the main axis and ACROSS voxels of each, which
// no other one touches: it goes along a view's rays once, finds the cell between two voxels where each crosses its planes, and adds
// there the ray's value and its first moment. At the end a cell's lower voxel has the value less the moment, the upper one the moment.
// It spends one 8-byte sum in the first-level cache a sample. Planes lie in vectors; sums of different planes wait for none of another.
#include "tomography/include/joseph.cl"
#ifndef PLANES
#define PLANES 16
#endif
#ifndef ACROSS
#define ACROSS 128
#endif
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define FLOATS PASTE(float, PLANES)
#define INTS PASTE(convert_int, PLANES)
#define STORE PASTE(vstore, PLANES)
#define LANES_4 0, 1, 2, 3
#define LANES_8 LANES_4, 4, 5, 6, 7
#define LANES_16 LANES_8, 8, 9, 10, 11, 12, 13, 14, 15
#define CELLS (ACROSS + 3)  // one for rays before the first cell and one for rays beyond the last; these are read by nobody

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void tomography_joseph_planes(
    global const float *restrict q, global const float4 *restrict lines, global const int4 *restrict runs, global float *restrict f,
    const int run_count, const int na, const int nb, const long step_a, const long step_b, const int accumulate) {
    local float2 cells[PLANES][CELLS];
    const int first_a = (int)get_global_id(0) * PLANES, first_b = (int)get_global_id(1) * ACROSS;
    const int planes = min(PLANES, na - first_a), voxels = min(ACROSS, nb - first_b);
    const FLOATS k = (float)(first_a - na / 2) + (FLOATS)(PASTE(LANES_, PLANES));
    const float near = first_a - na / 2, far = near + (planes - 1);
    const float below = first_b - nb / 2 - 1, above = below + (voxels + 1);  // the lowest cell's lower edge, the highest one's upper
    for (int plane = 0; plane < PLANES; ++plane)
        for (int i = 0; i < CELLS; ++i) cells[plane][i] = (float2)(0);
    for (int number = 0; number < run_count; ++number) {
        const int4 run = runs[number];
        const int count = RUN_COUNT(run);
        global const float4 *restrict line = lines + 2 * (size_t)run.w;
        // A ray lies beyond a place on some plane where it does on the first or on the last one.
        const int first = min(first_beyond(line, count, near, below), first_beyond(line, count, far, below));
        const int beyond = max(first_beyond(line, count, near, above), first_beyond(line, count, far, above));
        for (int n = first; n < beyond; ++n) {
            const float4 ray = line[2 * n];
            const float value = q[run.w + n];
            const FLOATS place = fma(k, (FLOATS)(ray.y), (FLOATS)(ray.x)), cell = floor(place), moment = (place - cell) * value;
            int at[PLANES];
            float moments[PLANES];
            STORE(INTS(clamp(cell - below, (FLOATS)(-1), (FLOATS)(ACROSS + 1))) + 1, 0, at);
            STORE(moment, 0, moments);
#pragma unroll
            for (int plane = 0; plane < PLANES; ++plane) cells[plane][at[plane]] += (float2)(value, moments[plane]);
        }
    }
    for (int i = 0; i < voxels; ++i) {
        global float *voxel = f + (first_b + i) * step_b + first_a * step_a;
        for (int plane = 0; plane < planes; ++plane) {
            const float2 upper = cells[plane][i + 2];
            const float sum = upper.x - upper.y + cells[plane][i + 1].y;
            voxel[plane * step_a] = (accumulate ? voxel[plane * step_a] : 0) + sum;
        }
    }
}
