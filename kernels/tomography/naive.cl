// A voxel a work-item; for each view it turns the voxel into the source's frame by products and sums, and finds channel and row by a call
// of one function for each. (Jang 2009, Figures 1a and 2a)
#include "tomography/include/arc.cl"

// Where a coordinate lies along one axis of the detector: the pixel before it, and how far behind that one.
inline float2 locpix1(const float coordinate, const int number, const float per_unit, const float middle) {
    float place = coordinate * per_unit + middle;
    if (place < -2) place = -2;  // Far outside, fewer than one pixel away suffices, and is a whole number.
    if (place > number + 1) place = number + 1;
    const float before = floor(place);
    return (float2)(before, place - before);
}

ARC_KERNEL tomography_naive(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float px = FIRST.x + x * CELL.x, py = FIRST.y + y * CELL.y, pz = FIRST.z + z * CELL.z;
    float sum = 0;
    for (int i = 0; i < views; ++i) {
        const float angle = ANGLE(i);
        const float s = px * COSINE(angle) + py * SINE(angle);
        const float depth = SOD - (px * SINE(angle) - py * COSINE(angle));
        const float w = pz - HEIGHT(i);
        const float beta = atan2(s, depth), slope = w * RECIP(ROOT(s * s + depth * depth));
        const float2 j1 = locpix1(beta, columns, CHANNELS, MIDDLE_CHANNEL);
        const float2 j2 = locpix1(slope, rows, ROWS, MIDDLE_ROW);
        const int column = (int)j1.x, row = (int)j2.x;
        const View view = VIEW(i);
        const float upper = (1 - j1.y) * TAP(column, row) + j1.y * TAP(column + 1, row);
        const float lower = (1 - j1.y) * TAP(column, row + 1) + j1.y * TAP(column + 1, row + 1);
        sum += ARC_WEIGHT(s * s + depth * depth, w) * ((1 - j2.y) * upper + j2.y * lower);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
