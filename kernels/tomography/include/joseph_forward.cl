// The body of forward projections: a work-item has RAYS rays of a column, LOCAL_V rows apart. Work-groups go through the columns, then
// through the views, then through the rows: rays in flight share a slab of the volume, which caches keep. TEXTURE: planes are an image's
// layers. Otherwise the second axis across the rays lies side by side in memory, as work-items do, with zeros around the volume, two
// wide, so that no tap is tested; STEP_A and STEP_B floats from a voxel to the next along the other two.
#include "tomography/include/joseph.cl"
#ifndef LOCAL_U
#define LOCAL_U 8
#define LOCAL_V 32
#endif
#ifndef RAYS
#define RAYS 1
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#if TEXTURE
#define PLANES read_only image2d_array_t planes
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;
#define FLOOR_SHIFT -0.5f  // a pixel's centre is at a half
#else
#define PLANES global const float *restrict planes
#define FLOOR_SHIFT 0.5f
#endif
#ifndef STEP_B
#define STEP_A step_a
#define STEP_B step_b
#endif
#if TEXTURE
#define GROUP LOCAL_U, LOCAL_V, 1
#define ITEM_U get_local_id(0)
#define ITEM_V get_local_id(1)
#else
#define GROUP LOCAL_V, LOCAL_U, 1
#define ITEM_U get_local_id(1)
#define ITEM_V get_local_id(0)
#endif
// Rays of one column share the place along the first axis where their main axis and slope do not depend on the row.
#if ANY
#define SHARED RAYS
#define OF(r) (r)
#else
#define SHARED 1
#define OF(r) 0
#endif

#define JOSEPH_KERNEL kernel __attribute__((reqd_work_group_size(GROUP))) void
// `middle` is the place of the middle voxel in `planes`.
#define JOSEPH_ARGUMENTS                                                                                                                    \
    PLANES, global const float4 *restrict lines, global const float4 *restrict steps, global const int4 *restrict runs,                     \
        global float *restrict p, const int first_run, const int na, const int nb, const int nc, const long middle, const long step_a,      \
        const long step_b, const int rows, const int columns, const float4 cell, const int accumulate
#define JOSEPH_VALUES planes, lines, steps, runs, p, first_run, na, nb, nc, middle, step_a, step_b, rows, columns, cell, accumulate

inline void project_along_rays(JOSEPH_ARGUMENTS) {
    const int n = (int)get_group_id(0) * LOCAL_U + (int)ITEM_U, first_row = (int)get_group_id(2) * (LOCAL_V * RAYS) + (int)ITEM_V;
    const int4 run = runs[first_run + get_group_id(1)];
    if (n >= RUN_COUNT(run) || first_row >= rows) return;
    const float half_a = na / 2, half_b = nb / 2;
    const float low_b = -half_b - 1, high_b = nb - half_b;
#if !PLANAR
    const float half_c = nc / 2, low_c = -half_c - 1, high_c = nc - half_c;
#endif
    const float2 all = (float2)(-half_a, na - 1 - half_a);
    const float4 line = lines[2 * ((size_t)run.w + n)], more = lines[2 * ((size_t)run.w + n) + 1];
    float b0[SHARED], b1[SHARED], c0[RAYS], c1[RAYS], sum[RAYS];
    bool mine[RAYS];
    float2 planes_met = (float2)(1, -1);
#if !ANY
    b0[0] = line.x, b1[0] = line.y;
    const float2 within = planes_within(all, b0[0], b1[0], low_b, high_b);
#endif
#pragma unroll
    for (int r = 0; r < RAYS; ++r) {
        const int row = first_row + r * LOCAL_V;
        const float j = row - rows / 2;
        sum[r] = 0;
        mine[r] = row < rows;
#if ANY
        const float4 direction = fma((float4)(j), steps[2 * run.x], line), moment = fma((float4)(j), steps[2 * run.x + 1], more);
        const Ray ray = ray_along(direction, moment);
        mine[r] = mine[r] && main_axis(direction) == MAIN;
        b0[r] = mine[r] ? ray.b0 : 0, b1[r] = mine[r] ? ray.b1 : 0;
        c0[r] = ray.c0, c1[r] = ray.c1;
        const float2 within = planes_within(all, b0[r], b1[r], low_b, high_b);
#else
        c0[r] = fma(j, more.x, line.z), c1[r] = fma(j, more.y, line.w);
#endif
        if (!mine[r]) c0[r] = c1[r] = 0;
#if PLANAR
        const float2 met = within;
#else
        const float2 met = planes_within(within, c0[r], c1[r], low_c, high_c);
#endif
        if (!mine[r] || met.x > met.y) continue;
        planes_met = planes_met.x > planes_met.y ? met : (float2)(fmin(planes_met.x, met.x), fmax(planes_met.y, met.y));
    }
    // A plane more than the ray meets reads zeros.
    int first = max((int)ceil(planes_met.x - 1e-3f), -(na / 2)), last = min((int)floor(planes_met.y + 1e-3f), na - 1 - na / 2);
#pragma unroll
    for (int r = 0; r < RAYS; ++r) c0[r] -= FLOOR_SHIFT;
#pragma unroll
    for (int r = 0; r < SHARED; ++r) b0[r] -= FLOOR_SHIFT;
#if TEXTURE
    float layer = first + na / 2;
#pragma unroll
    for (int r = 0; r < RAYS; ++r) c0[r] += nc / 2;
#pragma unroll
    for (int r = 0; r < SHARED; ++r) b0[r] += half_b;
#else
    // Places end in the zeros. With several rays some go on where others have left the volume: each sample is clamped. Otherwise it is
    // enough that the ends lie inside; they do but where rounding is as large as voxels, of rays that pass very far away.
    const float least_b = low_b - 0.75f - FLOOR_SHIFT, most_b = high_b + 0.75f - FLOOR_SHIFT;
#if !PLANAR
    const float least_c = low_c - 0.75f - FLOOR_SHIFT, most_c = high_c + 0.75f - FLOOR_SHIFT;
#endif
#if !(ANY && RAYS > 1)
#define REACHES(place, slope, least, most) (fma((float)(i), slope, place) >= (least) && fma((float)(i), slope, place) <= (most))
#if RAYS > 1 || PLANAR
#define ENDS_INSIDE REACHES(b0[0], b1[0], least_b, most_b)
#else
#define ENDS_INSIDE (REACHES(b0[0], b1[0], least_b, most_b) && REACHES(c0[0], c1[0], least_c, most_c))
#endif
    for (int i = first; i <= last && !ENDS_INSIDE; i = ++first) {}
    for (int i = last; i >= first && !ENDS_INSIDE; i = --last) {}
#endif
    global const float *restrict at = planes + middle + first * (long)STEP_A;
    // Of the whole numbers' bits only the differences count.
    const uint from = as_uint(WHOLE);
#endif
    float k = first;
#pragma unroll UNROLL
    for (int i = first; i <= last; ++i) {
#if TEXTURE
#pragma unroll
        for (int r = 0; r < RAYS; ++r) {
            const float4 place = (float4)(fma(k, b1[OF(r)], b0[OF(r)]), fma(k, c1[r], c0[r]), layer, 0);
            sum[r] += read_imagef(planes, linear, place).x;
        }
        layer += 1;
#else
        float right[SHARED];
        uint across[SHARED];
#pragma unroll
        for (int r = 0; r < SHARED; ++r) {
            float b = fma(k, b1[r], b0[r]);
#if ANY && RAYS > 1
            b = fmin(fmax(b, least_b), most_b);
#endif
            const float whole = b + WHOLE;
            right[r] = b - (whole - WHOLE) + 0.5f;
            across[r] = as_uint(whole) - from;
        }
#pragma unroll
        for (int r = 0; r < RAYS; ++r) {
#if PLANAR
            global const float *restrict tap = at + (int)across[OF(r)];  // one beside the other
            sum[r] += fma(right[OF(r)], tap[1] - tap[0], tap[0]);
#else
            float c = fma(k, c1[r], c0[r]);
#if RAYS > 1
            c = fmin(fmax(c, least_c), most_c);
#endif
            const float whole = c + WHOLE;
            const float down = c - (whole - WHOLE) + 0.5f;
            global const float *restrict tap = at + (int)across[OF(r)] * (long)STEP_B + (int)(as_uint(whole) - from);
            const float near = fma(down, tap[1] - tap[0], tap[0]);
            const float far = fma(down, tap[STEP_B + 1] - tap[STEP_B], tap[STEP_B]);
            sum[r] = fma(right[OF(r)], far - near, sum[r] + near);
#endif
        }
        at += STEP_A;
#endif
        k += 1;
    }
#pragma unroll
    for (int r = 0; r < RAYS; ++r) {
        if (!mine[r]) continue;
        global float *pixel = p + ((size_t)run.x * rows + first_row + r * LOCAL_V) * columns + RUN_COLUMN(run, n);
        *pixel = (accumulate ? *pixel : 0) + sum[r] * between_planes(b1[OF(r)], c1[r], cell);
    }
}
