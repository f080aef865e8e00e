// One function that finds channel and row, by intrinsics, as the steps after the naive one use it; for FLOATV and its integers INTV.
#include "tomography/include/arc.cl"
#ifdef GPU
#define RECIP(x) native_recip(x)
#define ROOT(x) native_sqrt(x)
#else
#define RECIP(x) (1.0f / (x))
#define ROOT(x) sqrt(x)
#endif

typedef struct {
    FLOATV right, down, weight;
    INTV column, row;
} Location;

// Of voxels at s along the channels, `depth` before the source and w above it.
inline Location locate(const FLOATV s, const FLOATV depth, const FLOATV w, const int columns, const int rows, const float16 arc) {
    Location at;
    const FLOATV square = fma(s, s, depth * depth), per_mm = RECIP(ROOT(square));
    const FLOATV channel = fma(atan(s * RECIP(depth)), (FLOATV)(CHANNELS), (FLOATV)(MIDDLE_CHANNEL));
    const FLOATV row = fma(w * per_mm, (FLOATV)(ROWS), (FLOATV)(MIDDLE_ROW));
    const FLOATV u = clamp(channel, (FLOATV)(-2), (FLOATV)(columns + 1)), v = clamp(row, (FLOATV)(-2), (FLOATV)(rows + 1));
    const FLOATV left = floor(u), top = floor(v);
    at.right = u - left;
    at.down = v - top;
    at.column = CONVERT_INT(left);
    at.row = CONVERT_INT(top);
    at.weight = ARC_WEIGHT(square, w);
    return at;
}

// Taps outside count as zero: their weight is, and their place is moved inside.
inline float interpolated(global const float *restrict view, const int column, const int row, const float right, const float down,
                          const int columns, const int rows) {
    const float a = column >= 0 && column < columns ? 1 - right : 0, b = column >= -1 && column < columns - 1 ? right : 0;
    const float c = row >= 0 && row < rows ? 1 - down : 0, d = row >= -1 && row < rows - 1 ? down : 0;
    const int i = clamp(column, 0, columns - 1), j = clamp(column + 1, 0, columns - 1);
    global const float *restrict upper = view + clamp(row, 0, rows - 1) * columns;
    global const float *restrict lower = view + clamp(row + 1, 0, rows - 1) * columns;
    return fma(c, fma(a, upper[i], b * upper[j]), d * fma(a, lower[i], b * lower[j]));
}
