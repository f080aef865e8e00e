// The same with one function that finds channel and row together, in vectors of two: fewer instructions and registers. (Jang 2009, ALU
// unit utilization, Figures 1b and 2b)
#include "tomography/include/intrinsics.cl"

ARC_KERNEL tomography_alu(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float2 place = fma((float2)(x, y), CELL.xy, FIRST.xy);
    const float pz = fma((float)z, CELL.z, FIRST.z);
    float sum = 0;
    for (int i = 0; i < views; ++i) {
        IN_FRAME(place, i, s, depth);
        const float w = pz - HEIGHT(i), square = SQUARE(s, depth);
        const Places j = locpix(BETA(s, depth), SLOPE(w, square), columns, rows, arc);
        const int2 before = convert_int2(j.before);
        const float value = interpolated(projections, VIEW(i), before.x, before.y, j.behind.x, j.behind.y, columns, rows);
        sum = fma(ARC_WEIGHT(square, w), value, sum);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
