// Where voxels fall on the detector, and what they weigh there. A view is `view_floats` numbers. Flat: rows of a 3x4 matrix that takes
// voxel indices, counted from the volume's middle, to (w u, w v, w), pixels u and v counted from the detector's; then the source in mm
// and a factor. CURVED: rows to mm along the tangent, up and inwards, seen from the source; then what meets the cylinder.
// UPRIGHT: u and 1 / w do not change along z, and v is affine in it. WEIGHT 0: a factor, 1: FDK's, 2: the adjoint's.
#include "common/real.cl"
#ifndef CURVED
#define CURVED 0
#endif
#ifndef UPRIGHT
#define UPRIGHT 0
#endif
#ifndef WEIGHT
#define WEIGHT 0
#endif
#ifndef DIMENSIONS
#define DIMENSIONS 3
#endif
#define VIEW_FLOATS 20
#ifndef COLUMNV  // voxels that are placed at once
#define COLUMNV REALV
#endif

// CPUs' native functions are estimates of 12 to 14 bits.
#ifdef GPU
#define RECIP(x) native_recip(x)
#define SQRT(x) native_sqrt(x)
#else
#define RECIP(x) ((COLUMNV)(1) / (x))
#define SQRT(x) sqrt(x)
#endif

// Of the voxels of a column, z apart by `step`: where the first falls, how far from it the next, and its weight; WEIGHT 2 multiplies it
// by the distance from the source, whose square is `across` and that of a height.
typedef struct {
    COLUMNV u, v, weight, across;
    COLUMNV v_step, height;
    float height_step;
} Column;

#define DOT(row, x, y, z) fma((COLUMNV)(view[row]), x, (COLUMNV)(fma(view[(row) + 1], y, fma(view[(row) + 2], z, view[(row) + 3]))))

// `middle`: the detector's, as an index; `cell`: sizes of a voxel in mm.
inline Column column_of(constant float *view, const COLUMNV x, const float y, const float z, const float step, const float2 middle,
                        const float4 cell) {
    Column at;
#if CURVED
    const COLUMNV side = DOT(0, x, y, z), up = DOT(4, x, y, z), inwards = DOT(8, x, y, z);
    const COLUMNV square = fma(side, side, inwards * inwards), along = fma(view[12], inwards, view[13] * side);
    const COLUMNV across = fma(view[12], side, -view[13] * inwards), under = fma(square, view[18], -across * across);
    const COLUMNV root = SQRT(fmax(under, (COLUMNV)(0)));
    // Of the two forms of the farther root the one that adds.
    const COLUMNV scale = select((root - along) * RECIP(square), view[19] * RECIP(along + root), along > 0);
    at.u = fma(atan2(fma(scale, side, view[13]), -fma(scale, inwards, view[12])), view[17], middle.x);
    const COLUMNV rows = scale * view[14];
    at.v = fma(up, rows, view[16] + middle.y);
    at.v_step = rows * (view[6] * step);
    at.height = up;
    at.height_step = view[6] * step;
    at.across = square;
#if WEIGHT == 2
#if DIMENSIONS == 3
    at.weight = view[15] * scale * scale * RECIP(root);
#else
    at.weight = view[15] * scale * RECIP(root);
#endif
#elif WEIGHT == 1
    at.weight = view[15] * RECIP(square);
#else
    at.weight = view[15];
#endif
    at.weight = select((COLUMNV)(0), at.weight, (under > 0) && (scale > 0));
#else
    const COLUMNV r = RECIP(DOT(8, x, y, z));
    at.u = fma(DOT(0, x, y, z), r, middle.x);
    at.v = fma(DOT(4, x, y, z), r, middle.y);
    at.v_step = r * (view[6] * step);
#if WEIGHT == 2
    const COLUMNV sx = fma(x, cell.x, -view[12]);
    const float sy = fma(y, cell.y, -view[13]);
    at.across = fma(sx, sx, sy * sy);
    at.height = fma(z, cell.z, -view[14]);
    at.height_step = step * cell.z;
    at.weight = view[15] * r * r;
#if DIMENSIONS == 3
    at.weight *= r;
#endif
#else
    at.across = 0;
    at.height = 0;
    at.height_step = 0;
    at.weight = view[15];
#if WEIGHT == 1
    at.weight *= r * r;
#endif
#endif
#endif
    return at;
}

// The weight `k` steps up the column.
inline COLUMNV weight_at(const Column at, const float k) {
#if WEIGHT == 2
    const COLUMNV height = fma((COLUMNV)(k), (COLUMNV)(at.height_step), at.height);
    return at.weight * SQRT(fma(height, height, at.across));
#else
    return at.weight;
#endif
}

#define BACK_ARGUMENTS(projections)                                                                                                 \
    projections, global float *restrict volume, constant float *views, const int first, const int count, const int nx, const int ny, \
        const int nz, const int columns, const int rows, const int accumulate, const float4 cell

// Indices counted from the volume's middle.
#define FROM_MIDDLE(index, n) ((float)(index)-0.5f * ((n)-1))
