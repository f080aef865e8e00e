// What the steps after the naive one share, in FLOATV: one voxel or view (float), or four (float4). Intrinsics, which Brook+ compiles to
// instructions of the hardware, stand for products and sums, comparisons, roots and divisions. (Jang 2009, 3.1)
#include "tomography/include/arc.cl"
#ifndef FLOATV
#define FLOATV float
#define PAIRV float2  // a FLOATV along the channels, and one along the rows
#endif

#if HARDWARE
#define RECIP(x) native_recip(x)
#define ROOT(x) native_sqrt(x)
#else
#define RECIP(x) (1.0f / (x))
#define ROOT(x) sqrt(x)
#endif

// Of voxels at s along the channels and `depth` before the source, `square` away from it: the angle, and the slope to the height w.
#define BETA(s, depth) atan((s)*RECIP(depth))
#define SQUARE(s, depth) fma(s, s, (depth) * (depth))
#define SLOPE(w, square) ((w)*RECIP(ROOT(square)))

// Where a coordinate lies along one axis of the detector: the pixel before it, and how far behind that one.
typedef struct {
    FLOATV before, behind;
} Place;
inline Place locpix1(const FLOATV coordinate, const int number, const float per_unit, const float middle) {
    const FLOATV place = clamp(fma(coordinate, (FLOATV)(per_unit), (FLOATV)(middle)), (FLOATV)(-2), (FLOATV)(number + 1));
    const FLOATV before = floor(place);
    return (Place){before, place - before};
}

// Both axes in one function: along the channels in the lower half of each vector, along the rows in the upper. (Figure 2b)
typedef struct {
    PAIRV before, behind;
} Places;
inline Places locpix(const FLOATV beta, const FLOATV slope, const int columns, const int rows, const float16 arc) {
    const PAIRV per_unit = (PAIRV)((FLOATV)(CHANNELS), (FLOATV)(ROWS)), middle = (PAIRV)((FLOATV)(MIDDLE_CHANNEL), (FLOATV)(MIDDLE_ROW));
    const PAIRV last = (PAIRV)((FLOATV)(columns + 1), (FLOATV)(rows + 1));
    const PAIRV place = clamp(fma((PAIRV)(beta, slope), per_unit, middle), (PAIRV)(-2), last), before = floor(place);
    return (Places){before, place - before};
}

// Taps outside count as zero: their weight is, and their place is moved inside.
inline float interpolated(PROJECTIONS, const View view, const int column, const int row, const float right, const float down,
                          const int columns, const int rows) {
    const float a = column >= 0 && column < columns ? 1 - right : 0, b = column >= -1 && column < columns - 1 ? right : 0;
    const float c = row >= 0 && row < rows ? 1 - down : 0, d = row >= -1 && row < rows - 1 ? down : 0;
    const int i = clamp(column, 0, columns - 1), j = clamp(column + 1, 0, columns - 1);
    const int k = clamp(row, 0, rows - 1), l = clamp(row + 1, 0, rows - 1);
    return fma(c, fma(a, PIXEL(i, k), b * PIXEL(j, k)), d * fma(a, PIXEL(i, l), b * PIXEL(j, l)));
}

#define IN_FRAME(place, i, s, depth)                \
    SINE_AND_COSINE(float, i);                      \
    const float2 e = (float2)(cosine, sine);        \
    const float s = dot(place, e), depth = SOD - dot(place, (float2)(e.y, -e.x))
