// The mean of the four pixels around a place, or of two where there is one row (DIMENSIONS 2), by loads: for WIDTH places at once.
#include "common/real.cl"
#ifndef DIMENSIONS
#define DIMENSIONS 3
#endif
#if WIDTH == 1
#define INTV int
#define TO_INT(x) convert_int(x)
#else
#define INTV PASTE(int, WIDTH)
#define TO_INT(x) PASTE(convert_int, WIDTH)(x)

// Neighbours at some places: one load takes both.
typedef struct {
    REALV left, right;
} Pair;
inline Pair pairs_at(global const float *from, const int *place) {
    float pairs[2 * WIDTH];
#pragma unroll
    for (int lane = 0; lane < WIDTH; ++lane) vstore2(vload2(0, from + place[lane]), lane, pairs);
    const REALV low = VLOAD(pairs), high = VLOAD(pairs + WIDTH);
    const Pair found = {(REALV)(low.even, high.even), (REALV)(low.odd, high.odd)};
    return found;
}
#endif

inline REALV bilinear(global const float *pixels, const REALV u, const REALV v, const int stride) {
    const REALV left = floor(u), top = floor(v), right = u - left;
    const INTV at = TO_INT(top) * stride + TO_INT(left);
#if WIDTH == 1
    const float a = pixels[at], b = pixels[at + 1];
#else
    int place[WIDTH];
    PASTE(vstore, WIDTH)(at, 0, place);
    const Pair first = pairs_at(pixels, place);
    const REALV a = first.left, b = first.right;
#endif
    const REALV upper = fma(right, b - a, a);
#if DIMENSIONS == 2
    return upper;
#else
#if WIDTH == 1
    const float c = pixels[at + stride], d = pixels[at + stride + 1];
#else
    const Pair second = pairs_at(pixels + stride, place);
    const REALV c = second.left, d = second.right;
#endif
    const REALV lower = fma(right, d - c, c);
    return fma(v - top, lower - upper, upper);
#endif
}
