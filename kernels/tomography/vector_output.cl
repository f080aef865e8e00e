// The same with four neighbouring voxels a work-item, a view at a time: a quarter of the work-items, each with more registers. (Jang
// 2009, vector type, output)
#define FLOATV float4
#define INTV int4
#define CONVERT_INT(x) convert_int4(x)
#include "tomography/include/locate.cl"

ARC_KERNEL tomography_vector_output(ARC_ARGUMENTS) {
    const int x = 4 * get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float4 px = fma((float4)(x) + (float4)(0, 1, 2, 3), (float4)(CELL.x), (float4)(FIRST.x));
    const float py = fma((float)y, CELL.y, FIRST.y), pz = fma((float)z, CELL.z, FIRST.z);
    const int stream = (views + 3) / 4 * 4;
    global const float *restrict heights = streams + stream, *restrict sines = heights + stream, *restrict cosines = sines + stream;
    float4 sum = 0;
    for (int i = 0; i < views; ++i) {
        const float sine = sines[i], cosine = cosines[i];
        const float4 s = fma(px, (float4)(cosine), (float4)(py * sine)), depth = fma(px, (float4)(-sine), (float4)(fma(py, cosine, SOD)));
        const Location at = locate(s, depth, (float4)(pz - heights[i]), columns, rows, arc);
        global const float *restrict view = projections + (size_t)i * rows * columns;
        const float4 value = (float4)(interpolated(view, at.column.x, at.row.x, at.right.x, at.down.x, columns, rows),
                                      interpolated(view, at.column.y, at.row.y, at.right.y, at.down.y, columns, rows),
                                      interpolated(view, at.column.z, at.row.z, at.right.z, at.down.z, columns, rows),
                                      interpolated(view, at.column.w, at.row.w, at.right.w, at.down.w, columns, rows));
        sum = fma(at.weight, value, sum);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    if (x + 4 <= nx) {
        vstore4((accumulate ? vload4(0, voxel) : (float4)(0)) + sum, 0, voxel);
        return;
    }
    const float lanes[4] = {sum.x, sum.y, sum.z, sum.w};
    for (int lane = 0; lane < nx - x; ++lane) voxel[lane] = (accumulate ? voxel[lane] : 0) + lanes[lane];
}
