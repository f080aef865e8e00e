// Back projection by four taps of projections with zeros around them, a row and a column before and two after, so that no tap is tested:
// WIDTH voxels along x and Z along z a work-item. Weights are exact; what it spends is loads and the arithmetic
// between them.
#include "tomography/include/tomography.cl"
#include "common/bilinear.cl"
#if WIDTH == 1
#define FIRST_LANES 0
#else
#define FIRST_LANES ((REALV)(PASTE(LANES_, WIDTH)))
#endif
#define LANES_4 0, 1, 2, 3
#define LANES_8 LANES_4, 4, 5, 6, 7
#define LANES_16 LANES_8, 8, 9, 10, 11, 12, 13, 14, 15

// Between the four pixels around a place, in pixels of the detector, of which `view` is the first.
inline REALV padded(global const float *restrict view, const REALV u, const REALV v, const int columns, const int rows) {
    // fmax takes the number beside a NaN: a tap is never outside.
    const REALV inside_u = fmin(fmax(u, (REALV)(-1)), (REALV)(columns)), inside_v = fmin(fmax(v, (REALV)(-1)), (REALV)(rows));
    return bilinear(view, inside_u, inside_v, columns + 3);
}

#define TAPS_KERNEL kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void
#define TAPS_ARGUMENTS BACK_ARGUMENTS(global const float *restrict projections)
#define TAPS_VALUES projections, volume, views, first, count, nx, ny, nz, columns, rows, accumulate, cell

inline void gather_taps(TAPS_ARGUMENTS) {
    const int x = (int)get_global_id(0) * WIDTH, y = get_global_id(1), z = (int)get_global_id(2) * Z;
    if (x >= nx || y >= ny) return;
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    const size_t plane = (size_t)nx * ny, view_size = (size_t)(rows + 3) * (columns + 3);
    const REALV fx = FROM_MIDDLE(x, nx) + FIRST_LANES;
    const float fy = FROM_MIDDLE(y, ny), fz = FROM_MIDDLE(z, nz);
    const float2 middle = (float2)(0.5f * (columns - 1), 0.5f * (rows - 1));
    global const float *restrict view = projections + first * view_size + columns + 4;
#if WIDTH == 1
    const int layers = Z;
#else
    const int layers = min(Z, nz - z);
#endif
    REALV sum[Z];
#if WIDTH == 1
#pragma unroll
#endif
    for (int k = 0; k < layers; ++k) sum[k] = 0;
    for (int i = 0; i < count; ++i, view += view_size) {
#if UPRIGHT
        const Column at = column_of(views + i * VIEW_FLOATS, fx, fy, fz, 1, middle, cell);
#endif
#if WIDTH == 1
#pragma unroll
#endif
        for (int k = 0; k < layers; ++k) {
#if UPRIGHT
            const REALV v = fma((REALV)(k), at.v_step, at.v);
            sum[k] = fma(weight_at(at, k), padded(view, at.u, v, columns, rows), sum[k]);
#else
            const Column at = column_of(views + i * VIEW_FLOATS, fx, fy, fz + k, 0, middle, cell);
            sum[k] = fma(weight_at(at, 0), padded(view, at.u, at.v, columns, rows), sum[k]);
#endif
        }
    }
#if WIDTH == 1
#pragma unroll
#endif
    for (int k = 0; k < layers; ++k) {
        if (z + k >= nz) continue;
#if WIDTH > 1
        if (x + WIDTH <= nx) {
            const REALV before = accumulate ? VLOAD(voxel + k * plane) : (REALV)(0);
            VSTORE(before + sum[k], voxel + k * plane);
            continue;
        }
        float lanes[WIDTH];
        VSTORE(sum[k], lanes);
        for (int lane = 0; lane < nx - x; ++lane)
            voxel[k * plane + lane] = (accumulate ? voxel[k * plane + lane] : 0) + lanes[lane];
#else
        voxel[k * plane] = (accumulate ? voxel[k * plane] : 0) + sum[k];
#endif
    }
}
