// The same with intrinsics: dot products and multiply-adds for products and sums, clamp for comparisons; still a call for the channel and
// one for the row. (Jang 2009, Figures 1b and 2a)
#include "tomography/include/intrinsics.cl"

ARC_KERNEL tomography_intrinsics(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float2 place = fma((float2)(x, y), CELL.xy, FIRST.xy);
    const float pz = fma((float)z, CELL.z, FIRST.z);
    float sum = 0;
    for (int i = 0; i < views; ++i) {
        IN_FRAME(place, i, s, depth);
        const float w = pz - HEIGHT(i), square = SQUARE(s, depth);
        const Place j1 = locpix1(BETA(s, depth), columns, CHANNELS, MIDDLE_CHANNEL);
        const Place j2 = locpix1(SLOPE(w, square), rows, ROWS, MIDDLE_ROW);
        const float value =
            interpolated(projections, VIEW(i), convert_int(j1.before), convert_int(j2.before), j1.behind, j2.behind, columns, rows);
        sum = fma(ARC_WEIGHT(square, w), value, sum);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
