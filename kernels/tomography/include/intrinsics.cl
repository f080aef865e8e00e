// What the steps after the naive one share, in FLOATV: one voxel or view (float), or four (float4). Intrinsics, as in Jang 2009, 3.1, stand
// for products and sums and for comparisons.
#include "tomography/include/arc.cl"
#ifndef FLOATV
#define FLOATV float
#define PAIRV float2  // a FLOATV along the channels, and one along the rows
#endif

// Of voxels at s along the channels and `depth` before the source, `square` away from it: the angle, and the slope to the height w.
#define BETA(s, depth) atan2(s, depth)
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

// The mean of four taps.
inline float interpolated(PROJECTIONS, const View view, const int column, const int row, const float right, const float down,
                          const int columns, const int rows) {
    const float upper = fma(right, TAP(column + 1, row), (1 - right) * TAP(column, row));
    const float lower = fma(right, TAP(column + 1, row + 1), (1 - right) * TAP(column, row + 1));
    return fma(down, lower, (1 - down) * upper);
}

#define IN_FRAME(place, i, s, depth)                \
    SINE_AND_COSINE(float, i);                      \
    const float2 e = (float2)(cosine, sine);        \
    const float s = dot(place, e), depth = SOD - dot(place, (float2)(e.y, -e.x))
