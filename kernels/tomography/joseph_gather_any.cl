// The exact adjoint of any scan by gathering: a voxel a work-item. The square of its neighbours across the main axis, seen on the
// detector, holds all rays that touch it; each is traced anew and gives what its weight says. It spends some thirty slots on each of the
// rays in the square's box, most of which miss, and is for the scans that `joseph_gather` refuses.
#include "tomography/include/joseph.cl"
#include "tomography/include/tomography.cl"
#ifndef LOCAL_X
#define LOCAL_X 32
#define LOCAL_Y 4
#endif

// `angle`: of a curved detector's column, in radians.
kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void tomography_joseph_gather_any(
    global const float *restrict p, global const float4 *restrict lines, global const float4 *restrict steps, global const int4 *restrict runs,
    constant float *views, global float *restrict f, const int first_run, const int run_count, const int nx, const int ny, const int nz,
    const int rows, const int columns, const float4 cell, const float4 size, const float angle, const int accumulate) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float px = x - nx / 2, py = y - ny / 2, pz = z - nz / 2;
#if MAIN == 0
    const float k = px, b = py, c = pz;
#elif MAIN == 1
    const float k = py, b = px, c = pz;
#else
    const float k = pz, b = px, c = py;
#endif
#if PLANAR
    (void)c;
#endif
    const float2 middle = (float2)(0.5f * (columns - 1), 0.5f * (rows - 1));
    float sum = 0;
    for (int i = 0; i < run_count; ++i) {
        const int4 run = runs[first_run + i];
        constant float *view = views + i * VIEW_FLOATS;
        float2 low = (float2)(INFINITY), high = -low;
        bool seen = true;
#pragma unroll
        for (int corner = 0; corner < (PLANAR ? 2 : 4); ++corner) {
            const float db = corner % 2 ? 1 : -1, dc = PLANAR ? 0 : corner / 2 ? 1 : -1;
            const float fx = FROM_MIDDLE(x, nx) + (MAIN == 0 ? 0 : db), fz = FROM_MIDDLE(z, nz) + (MAIN == 2 ? 0 : dc);
            const float fy = FROM_MIDDLE(y, ny) + (MAIN == 1 ? 0 : MAIN == 0 ? db : dc);
            const Column at = column_of(view, fx, fy, fz, 0, middle, size);
#if CURVED
            seen = seen && at.weight > 0;
#else
            seen = seen && DOT(8, fx, fy, fz) > 0;
#endif
            low = fmin(low, (float2)(at.u, at.v)), high = fmax(high, (float2)(at.u, at.v));
        }
        float2 spare = (float2)(0.05f);
#if CURVED
        // Edges of the square bend on the detector, by the square of the angle that they take.
        const float wide = (high.x - low.x) * angle;
        spare.y += wide * wide * (fabs(low.y - middle.y) + (high.y - low.y) + rows);
#endif
        // Clamped before they are converted: of NaN fmax and fmin take the other number.
        const int first = seen ? (int)ceil(fmin(fmax(low.x - spare.x, 0.0f), (float)columns)) : 0;
        const int last = seen ? (int)floor(fmax(fmin(high.x + spare.x, columns - 1.0f), -1.0f)) : columns - 1;
        const int bottom = seen && !PLANAR ? (int)ceil(fmin(fmax(low.y - spare.y, 0.0f), (float)rows)) : 0;
        const int top = seen && !PLANAR ? (int)floor(fmax(fmin(high.y + spare.y, rows - 1.0f), -1.0f)) : rows - 1;
        const float4 step = steps[2 * run.x], turn = steps[2 * run.x + 1];
        for (int column = first; column <= last; ++column) {
            const float4 line = lines[2 * ((size_t)run.w + column)], moment = lines[2 * ((size_t)run.w + column) + 1];
            for (int row = bottom; row <= top; ++row) {
                const float j = row - rows / 2;
                const float4 direction = fma((float4)(j), step, line);
                if (main_axis(direction) != MAIN) continue;
                const Ray ray = ray_along(direction, fma((float4)(j), turn, moment));
                float weight = fmax(1 - fabs(fma(k, ray.b1, ray.b0) - b), 0.0f);
#if !PLANAR
                weight *= fmax(1 - fabs(fma(k, ray.c1, ray.c0) - c), 0.0f);
#endif
                if (weight > 0)
                    sum = fma(weight * between_planes(ray.b1, ray.c1, cell), p[((size_t)run.x * rows + row) * columns + column], sum);
            }
        }
    }
    global float *voxel = f + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
