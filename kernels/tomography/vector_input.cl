// The same with four views at once from vector streams, still a voxel a work-item: four times the code, no fewer work-items. (Jang 2009,
// vector type, input)
#define FLOATV float4
#define INTV int4
#define CONVERT_INT(x) convert_int4(x)
#include "tomography/include/locate.cl"

ARC_KERNEL tomography_vector_input(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float px = fma((float)x, CELL.x, FIRST.x), py = fma((float)y, CELL.y, FIRST.y), pz = fma((float)z, CELL.z, FIRST.z);
    const int fours = (views + 3) / 4;
    global const float4 *restrict heights = (global const float4 *)streams + fours;
    global const float4 *restrict sines = heights + fours, *restrict cosines = sines + fours;
    float4 sums = 0;
    for (int i = 0; i < fours; ++i) {
        const float4 sine = sines[i], cosine = cosines[i];
        const float4 s = fma((float4)(px), cosine, py * sine), depth = fma((float4)(py), cosine, fma((float4)(-px), sine, (float4)(SOD)));
        const Location at = locate(s, depth, pz - heights[i], columns, rows, arc);
        const int4 number = 4 * i + (int4)(0, 1, 2, 3);
        const float4 weight = select((float4)(0), at.weight, number < views);
        const int4 inside = min(number, views - 1);  // streams go on where views end
        const size_t size = (size_t)rows * columns;
        const float4 value =
            (float4)(interpolated(projections + inside.x * size, at.column.x, at.row.x, at.right.x, at.down.x, columns, rows),
                     interpolated(projections + inside.y * size, at.column.y, at.row.y, at.right.y, at.down.y, columns, rows),
                     interpolated(projections + inside.z * size, at.column.z, at.row.z, at.right.z, at.down.z, columns, rows),
                     interpolated(projections + inside.w * size, at.column.w, at.row.w, at.right.w, at.down.w, columns, rows));
        sums = fma(weight, value, sums);
    }
    const float sum = (sums.x + sums.y) + (sums.z + sums.w);
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
