// The exact adjoint of upright scans by gathering. On a plane across its main axis a ray lies in one cell between four voxels: a work-item
// visits the rays of its cells once, sums what they bring to the voxel below and above apart, and hands the latter to the next one at the
// end. A group first finds which columns its cells see, and where those cross its planes; work-items side by side in z share them.
// Planes one behind the other see almost the same columns, whose rows then lie in the first-level cache. What it spends is instructions,
// some 60 a column and cell: it loses where a cell has few rays, and a third of the work-items where slices are few.
#include "tomography/include/joseph.cl"
#ifndef LOCAL_Z
#define LOCAL_Z 64
#define LOCAL_A 2
#endif
#ifndef ACROSS
#define ACROSS 8
#endif
#ifndef ALONG
#define ALONG 1
#endif
#ifndef ROWS
#define ROWS 3
#endif
#define ITEMS_Z (LOCAL_Z * ALONG)
#ifdef GPU
#define RECIPROCAL(x) native_recip(x)
#define HANDED 1  // voxels whose upper sums change hands at once: few leave a GPU's first-level cache its room
#else
#define RECIPROCAL(x) (1 / (x))
#define HANDED ACROSS  // every exchange splits a CPU's loops over work-items
#endif

// What the rays of a column between two places bring to the voxel below and the one above; false where there are none. `ends` are the
// places in rows and a half, `place` is where the middle row lies above the lower voxel, `rays` where in q it is, less WHOLE's bits.
inline bool sum_rays(global const float *restrict q, const uint rays, const float2 ends, const float first_row, const float beyond_row,
                     const float spacing, const float place, float *low, float *high) {
    const float from = fmax(fmin(ends.x, ends.y), first_row) + WHOLE, to = fmin(fmax(fmax(ends.x, ends.y), first_row), beyond_row) + WHOLE;
    const int met = as_int(to) - as_int(from);
    if (met <= 0) return false;
    global const float *restrict ray = q + (rays + as_uint(from));
    float all = 0, moment = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const float value = r < met ? ray[r] : 0;
        all += value;
        if (r > 0) moment = r == 1 ? value : fma((float)r, value, moment);
    }
#pragma unroll 1
    for (int r = ROWS; r < met; ++r) {
        all += ray[r];
        moment = fma((float)r, ray[r], moment);
    }
    *high = fma(spacing, moment, fma(from - WHOLE, spacing, place) * all);
    *low = all - *high;
    return true;
}

kernel __attribute__((reqd_work_group_size(LOCAL_Z, LOCAL_A, 1))) void tomography_joseph_gather(
    global const float *restrict q, global const float4 *restrict lines, global const int4 *restrict runs, global float *restrict f,
    const int first_run, const int run_count, const int first_line, const int na, const int nb, const int nz, const long step_a,
    const long step_b, const long step_z, const int pitch, const int middle_row, const float first_row, const float beyond_row,
    const int accumulate) {
    local int2 seen[LOCAL_A][LOCAL_Z];
    local float4 columns[2][LOCAL_A][LOCAL_Z + 1];  // c, from a row to the next, its inverse, b
    local float handed[LOCAL_A][HANDED][ITEMS_Z];
    const int item = get_local_id(0), side = get_local_id(1), plane = get_global_id(1);
    // The lowest cells of a group are below its lowest voxel.
    const int first_z = (int)get_group_id(0) * (ITEMS_Z - 1) - 1 + item, first_b = (int)get_global_id(2) * ACROSS;
    const bool idle = first_z >= nz || plane >= na;
    const float k = plane - na / 2, below = first_b - nb / 2 - 1;
    float lower[ACROSS][ALONG], upper[ACROSS][ALONG];
#pragma unroll
    for (int i = 0; i < ACROSS; ++i)
#pragma unroll
        for (int a = 0; a < ALONG; ++a) lower[i][a] = upper[i][a] = 0;
    int half_used = 0;
    for (int number = 0; number < run_count; ++number) {
        if (number % LOCAL_Z == 0) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (number + item < run_count) {
                const int4 run = runs[first_run + number + item];
                global const float4 *restrict line = lines + 2 * (size_t)run.w;
                const int first = first_beyond(line, RUN_COUNT(run), k, below);
                const int count = first_beyond(line + 2 * first, RUN_COUNT(run) - first, k, below + (ACROSS + 1));
                seen[side][item] = (int2)(run.w + first, count);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int2 span = seen[side][number % LOCAL_Z];
        int most = 0;
#pragma unroll
        for (int i = 0; i < LOCAL_A; ++i) most = max(most, seen[i][number % LOCAL_Z].y);
        for (int piece = 0; piece < most; piece += LOCAL_Z, half_used = 1 - half_used) {
            local float4 *restrict column = columns[half_used][side];
            if (piece + item < span.y) {
                global const float4 *restrict line = lines + 2 * (size_t)(span.x + piece + item);
                const float4 at = line[0], more = line[1];
                const float spacing = fma(k, more.y, more.x);
                column[item] = (float4)(fma(k, at.w, at.z), spacing, RECIPROCAL(spacing), fma(k, at.y, at.x) - below);
            }
            barrier(CLK_LOCAL_MEM_FENCE);  // the half that is filled next was read before it
            if (idle) continue;
            const int count = min(span.y - piece, LOCAL_Z);
            uint rays = (uint)(span.x - first_line + piece) * (uint)pitch + (uint)middle_row - as_uint(WHOLE);
            float4 next = column[0];
            int n = 0;
#ifndef POCL_DEVICE_ADDRESS_BITS  // PoCL takes a second or more for each copy of this loop's body, and gains nothing
#pragma unroll
#endif
            for (int i = 0; i <= ACROSS; ++i) {
                while (n < count && (i == ACROSS || next.w <= i + 1)) {
                    const float c = next.x, spacing = next.y, inverse = next.z, right = next.w - i, left = 1 - right;
                    next = column[++n];
                    const float middle = fma(-c, inverse, 0.5f);
#pragma unroll
                    for (int a = 0; a < ALONG; ++a) {
                        const int step = a * LOCAL_Z - nz / 2;
                        // Neighbours find the same row where one's cell ends and the other's begins.
                        const float z = first_z + step, above = first_z + 1 + step;
                        const float2 ends = (float2)(fma(z, inverse, middle), fma(above, inverse, middle));
                        float low, high;
                        if (!sum_rays(q, rays, ends, first_row, beyond_row, spacing, c - z, &low, &high)) continue;
                        if (i > 0) {
                            lower[i > 0 ? i - 1 : 0][a] = fma(left, low, lower[i > 0 ? i - 1 : 0][a]);
                            upper[i > 0 ? i - 1 : 0][a] = fma(left, high, upper[i > 0 ? i - 1 : 0][a]);
                        }
                        if (i < ACROSS) {
                            lower[i < ACROSS ? i : 0][a] = fma(right, low, lower[i < ACROSS ? i : 0][a]);
                            upper[i < ACROSS ? i : 0][a] = fma(right, high, upper[i < ACROSS ? i : 0][a]);
                        }
                    }
                    rays += pitch;
                }
            }
        }
    }
    global float *voxel = f + (long)plane * step_a + first_b * step_b;
#pragma unroll
    for (int first = 0; first < ACROSS; first += HANDED) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < HANDED; ++i)
#pragma unroll
            for (int a = 0; a < ALONG; ++a) handed[side][i][a * LOCAL_Z + item] = upper[first + i][a];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < HANDED; ++i) {
#pragma unroll
            for (int a = 0; a < ALONG; ++a) {
                const int z = first_z + a * LOCAL_Z, place = a * LOCAL_Z + item;
                if (place == 0 || z >= nz || plane >= na || first_b + first + i >= nb) continue;
                global float *at = voxel + (first + i) * step_b + z * step_z;
                *at = (accumulate ? *at : 0) + lower[first + i][a] + handed[side][i][place - 1];
            }
        }
    }
}
