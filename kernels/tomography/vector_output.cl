// The same as `alu` with four neighbouring voxels a work-item, a view at a time: a quarter of the work-items, each with more registers.
// (Jang 2009, vector type, output)
#define FLOATV float4
#define PAIRV float8
#include "tomography/include/intrinsics.cl"
#define AT(lane) interpolated(projections, view, column.lane, row.lane, j.behind.lo.lane, j.behind.hi.lane, columns, rows)

ARC_KERNEL tomography_vector_output(ARC_ARGUMENTS) {
    const int x = 4 * get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float4 px = fma((float4)(x) + (float4)(0, 1, 2, 3), (float4)(CELL.x), (float4)(FIRST.x));
    const float py = fma((float)y, CELL.y, FIRST.y), pz = fma((float)z, CELL.z, FIRST.z);
    float4 sum = 0;
    for (int i = 0; i < views; ++i) {
        SINE_AND_COSINE(float, i);
        const float w = pz - HEIGHT(i);
        const float4 s = fma(px, (float4)(cosine), (float4)(py * sine)), depth = fma(px, (float4)(-sine), (float4)(fma(py, cosine, SOD)));
        const float4 square = SQUARE(s, depth);
        const Places j = locpix(BETA(s, depth), SLOPE(w, square), columns, rows, arc);
        const int4 column = convert_int4(j.before.lo), row = convert_int4(j.before.hi);
        const View view = VIEW(i);
        sum = fma((float4)(ARC_WEIGHT(square, w)), (float4)(AT(x), AT(y), AT(z), AT(w)), sum);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    if (x + 4 <= nx) {
        vstore4((accumulate ? vload4(0, voxel) : (float4)(0)) + sum, 0, voxel);
        return;
    }
    const float lanes[4] = {sum.x, sum.y, sum.z, sum.w};
    for (int lane = 0; lane < nx - x; ++lane) voxel[lane] = (accumulate ? voxel[lane] : 0) + lanes[lane];
}
