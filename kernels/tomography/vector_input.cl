// The same with four views at once from vector streams, still a voxel a work-item: four times the code, no fewer work-items. (Jang 2009,
// vector type, input)
#define FLOATV float4
#define PAIRV float8
#define STREAM 4
#include "tomography/include/intrinsics.cl"
#define AT(lane, index)                                                                                                              \
    interpolated(projections, VIEW(index.lane), column.lane, row.lane, j.behind.lo.lane, j.behind.hi.lane, columns, rows)

ARC_KERNEL tomography_vector_input(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float px = fma((float)x, CELL.x, FIRST.x), py = fma((float)y, CELL.y, FIRST.y), pz = fma((float)z, CELL.z, FIRST.z);
    float4 sums = 0;
    for (int i = 0; i < (views + 3) / 4; ++i) {
        SINE_AND_COSINE(float4, i);
        const float4 s = fma((float4)(px), cosine, py * sine), depth = fma((float4)(py), cosine, fma((float4)(-px), sine, (float4)(SOD)));
        const float4 w = pz - HEIGHT(i), square = SQUARE(s, depth);
        const Places j = locpix(BETA(s, depth), SLOPE(w, square), columns, rows, arc);
        const int4 column = convert_int4(j.before.lo), row = convert_int4(j.before.hi), number = 4 * i + (int4)(0, 1, 2, 3);
        const float4 weight = select((float4)(0), (float4)(ARC_WEIGHT(square, w)), number < views);
        const int4 inside = min(number, (int4)(views - 1));  // streams go on where views end
        sums = fma(weight, (float4)(AT(x, inside), AT(y, inside), AT(z, inside), AT(w, inside)), sums);
    }
    const float sum = (sums.x + sums.y) + (sums.z + sums.w);
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
