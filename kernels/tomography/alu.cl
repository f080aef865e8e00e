// The same with intrinsics, sines and cosines from a stream, and one function that finds channel and row together. (Jang 2009, ALU
// unit utilization)
#define FLOATV float
#define INTV int
#define CONVERT_INT(x) convert_int(x)
#include "tomography/include/locate.cl"

ARC_KERNEL tomography_alu(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float2 place = fma((float2)(x, y), CELL.xy, FIRST.xy);
    const float pz = fma((float)z, CELL.z, FIRST.z);
    const int stream = (views + 3) / 4 * 4;
    global const float *restrict heights = streams + stream, *restrict sines = heights + stream, *restrict cosines = sines + stream;
    float sum = 0;
    for (int i = 0; i < views; ++i) {
        const float2 e = (float2)(cosines[i], sines[i]);
        const float s = dot(place, e), depth = SOD - dot(place, (float2)(e.y, -e.x));
        const Location at = locate(s, depth, pz - heights[i], columns, rows, arc);
        global const float *restrict view = projections + (size_t)i * rows * columns;
        sum = fma(at.weight, interpolated(view, at.column, at.row, at.right, at.down, columns, rows), sum);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
