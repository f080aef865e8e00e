// Z voxels of a column a work-item, the texture unit interpolates, one fetch a voxel and view. `count` views pass over sums in registers,
// so that the volume is read and written once a launch. What it spends is fetches, and they are as fast as the unit where the pixels of
// four neighbouring work-items lie close together: DEEP neighbours stand one behind the other near the beams, along x or y, where their
// pixels all but coincide, and LANES_Z next to each other along z. It loses where voxels are few.
// Texture units of NVIDIA's round the places between pixels to 1/256.
#include "tomography/include/tomography.cl"
#ifndef Z
#define Z 32
#endif
#ifndef LANES_Z
#define LANES_Z 1
#endif
#ifndef DEEP
#define DEEP 4
#endif
#ifndef AT_ONCE
#define AT_ONCE 2
#endif
#ifndef STRIP
#define STRIP 256
#endif
#ifndef IMAGE
#define IMAGE 2
#endif
#ifndef LOCAL_X  // columns of voxels a work-group, across the beam and along it
#define LOCAL_X 16
#define LOCAL_Y 8
#endif
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

#if IMAGE == 3
#define LAYERS image3d_t
#define LAYER(index) ((index) + 0.5f)
#else
#define LAYERS image2d_array_t
#define LAYER(index) (index)
#endif

kernel __attribute__((reqd_work_group_size(LOCAL_X *LOCAL_Y *LANES_Z, 1, 1))) void tomography_image(
    BACK_ARGUMENTS(read_only LAYERS projections), const int along_x) {
    const int item = get_local_id(0), column = item / LANES_Z;
    int group_x = get_group_id(0), group_y = get_group_id(1);
#if STRIP  // strips of groups, one after the other: those under way together read fewer pixels
    const int wide = max(1, STRIP / (along_x ? LOCAL_Y : LOCAL_X)), deep = get_num_groups(1);
    const int group = group_y * (int)get_num_groups(0) + group_x, from = group / (wide * deep) * wide;
    const int here = min(wide, (int)get_num_groups(0) - from), place = group - from * deep;
    group_x = from + place % here, group_y = place / here;
#endif
    const int across = (along_x ? group_y : group_x) * LOCAL_X + column / DEEP % LOCAL_X;
    const int along = (along_x ? group_x : group_y) * LOCAL_Y + column / (DEEP * LOCAL_X) * DEEP + column % DEEP;
    const int x = along_x ? along : across, y = along_x ? across : along;
    const int z = (int)get_group_id(2) * (Z * LANES_Z) + item % LANES_Z;
    const bool inside = x < nx && y < ny;
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    const size_t plane = (size_t)LANES_Z * nx * ny;
    const float fx = FROM_MIDDLE(x, nx), fy = FROM_MIDDLE(y, ny), fz = FROM_MIDDLE(z, nz);
    const float2 middle = (float2)(0.5f * columns, 0.5f * rows);  // of a texture, whose pixels' centres are at halves
    float sum[Z];
#ifdef GPU
    const int layers = Z;
#else  // a CPU reads images by function calls: no more than are needed, and not worth unrolling
    const int layers = clamp((nz - z + LANES_Z - 1) / LANES_Z, 0, Z);
#endif
#ifdef GPU
#pragma unroll
#endif
    for (int k = 0; k < layers; ++k) sum[k] = accumulate && inside && z + k * LANES_Z < nz ? voxel[k * plane] : 0;
#ifdef GPU
#pragma unroll AT_ONCE
#endif
    for (int i = 0; i < count; ++i) {
        const float layer = LAYER((float)(first + i));
#if UPRIGHT
        const Column at = column_of(views + i * VIEW_FLOATS, fx, fy, fz, LANES_Z, middle, cell);
#endif
#ifdef GPU
#pragma unroll
#endif
        for (int k = 0; k < layers; ++k) {
#if UPRIGHT
            const float4 place = (float4)(at.u, fma((float)k, at.v_step, at.v), layer, 0);
            sum[k] = fma(weight_at(at, k), read_imagef(projections, linear, place).x, sum[k]);
#else
            const Column at = column_of(views + i * VIEW_FLOATS, fx, fy, fz + k * LANES_Z, 0, middle, cell);
            const float4 place = (float4)(at.u, at.v, layer, 0);
            sum[k] = fma(weight_at(at, 0), read_imagef(projections, linear, place).x, sum[k]);
#endif
        }
    }
    if (!inside) return;
#ifdef GPU
#pragma unroll
#endif
    for (int k = 0; k < layers; ++k)
        if (z + k * LANES_Z < nz) voxel[k * plane] = sum[k];
}
