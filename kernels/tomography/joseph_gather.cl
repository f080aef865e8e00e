// The exact adjoint of upright scans by gathering: a work-item sums what the rays bring to ACROSS voxels of a plane across their main
// axis, times ALONG voxels in z. A group first finds, by halving, between which columns its voxels see the rays of each view; then
// work-items side by side in z go through the same columns, and of each read the few rows that meet their voxels, four at once. What
// limits it is not known: half the lines touched a load changed nothing, a fifth fewer instructions cost 6 % (H200, 2026-11).
#include "common/joseph.cl"
#ifndef LOCAL_Z
#define LOCAL_Z 32
#define LOCAL_B 4
#endif
#ifndef ACROSS
#define ACROSS 4
#endif
#ifndef ALONG
#define ALONG 1
#endif

// The first of `count` lines that on plane k lies beyond a place.
inline int first_beyond(global const float4 *restrict line, const int count, const float k, const float place) {
    int n = 0;
    for (int beyond = count; n < beyond;) {
        const int middle = (n + beyond) / 2;
        const float4 at = line[2 * middle];
        if (fma(k, at.y, at.x) > place) beyond = middle;
        else n = middle + 1;
    }
    return n;
}

kernel __attribute__((reqd_work_group_size(LOCAL_Z, LOCAL_B, 1))) void tomography_joseph_gather(
    global const float4 *restrict q, global const float4 *restrict lines, global const int4 *restrict runs, global float *restrict f,
    const int first_run, const int run_count, const int first_line, const int na, const int nb, const int nz, const long step_a,
    const long step_b, const long step_z, const int rows, const int pitch, const int margin, const int accumulate) {
    local int2 seen[LOCAL_B][LOCAL_Z];
    const int item = get_local_id(0), side = get_local_id(1);
    const int first_z = (int)get_group_id(0) * (LOCAL_Z * ALONG) + item, first_b = (int)get_global_id(1) * ACROSS;
    const float k = (int)get_global_id(2) - na / 2, below = first_b - nb / 2 - 1;
    // Rows count from the middle one; the first of a line lies `margin` before the detector's.
    const float first_row = -margin - rows / 2, last_row = rows - rows / 2;
    const int fours = pitch / 4;
    float sum[ACROSS][ALONG];
#pragma unroll
    for (int i = 0; i < ACROSS; ++i)
#pragma unroll
        for (int a = 0; a < ALONG; ++a) sum[i][a] = 0;
    for (int block = 0; block < run_count; block += LOCAL_Z) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (block + item < run_count) {
            const int4 run = runs[first_run + block + item];
            global const float4 *restrict line = lines + 2 * (size_t)run.w;
            const int first = first_beyond(line, RUN_COUNT(run), k, below);
            const int count = first_beyond(line + 2 * first, RUN_COUNT(run) - first, k, below + (ACROSS + 1));
            seen[side][item] = (int2)(run.w + first, count);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int number = 0; number < LOCAL_Z && block + number < run_count; ++number) {
            const int2 span = seen[side][number];
            global const float4 *restrict line = lines + 2 * (size_t)span.x;
            global const float4 *restrict rays = q + (size_t)(span.x - first_line) * fours;
            for (int n = 0; n < span.y; ++n, rays += fours) {
                const float4 at = line[2 * n], more = line[2 * n + 1];
                const float b = fma(k, at.y, at.x) - below;
                const float c = fma(k, at.w, at.z), spacing = fma(k, more.y, more.x), inverse = 1 / spacing, reach = fabs(inverse);
                // Of so many rows some begin in the middle of four.
                const int trips = ((int)(2 * reach) + 7) / 4;
                float weight[ACROSS];
#pragma unroll
                for (int i = 0; i < ACROSS; ++i) weight[i] = clamp(1 - fabs(b - (i + 1)), 0.0f, 1.0f);
#pragma unroll
                for (int a = 0; a < ALONG; ++a) {
                    const float z = first_z + a * LOCAL_Z - nz / 2;
                    // Beyond the detector lie zeros, as many as one voxel can meet.
                    const float row = fmin(fmax(ceil(fma(z - c, inverse, -reach)), first_row), last_row);
                    const int four = (int)(row - first_row) / 4;
                    float away = fma(4 * four + first_row, spacing, c - z), total = 0;
                    for (int t = 0; t < trips; ++t) {
                        const float4 values = rays[four + t];
                        total = fma(clamp(1 - fabs(away), 0.0f, 1.0f), values.x, total);
                        total = fma(clamp(1 - fabs(away + spacing), 0.0f, 1.0f), values.y, total);
                        total = fma(clamp(1 - fabs(fma(2.0f, spacing, away)), 0.0f, 1.0f), values.z, total);
                        total = fma(clamp(1 - fabs(fma(3.0f, spacing, away)), 0.0f, 1.0f), values.w, total);
                        away = fma(4.0f, spacing, away);
                    }
#pragma unroll
                    for (int i = 0; i < ACROSS; ++i) sum[i][a] = fma(weight[i], total, sum[i][a]);
                }
            }
        }
    }
    if (first_b >= nb) return;
    global float *voxel = f + (long)get_global_id(2) * step_a + first_b * step_b;
#pragma unroll
    for (int a = 0; a < ALONG; ++a) {
        const int z = first_z + a * LOCAL_Z;
        if (z >= nz) continue;
#pragma unroll
        for (int i = 0; i < ACROSS; ++i) {
            if (first_b + i >= nb) continue;
            global float *at = voxel + i * step_b + z * step_z;
            *at = (accumulate ? *at : 0) + sum[i][a];
        }
    }
}
