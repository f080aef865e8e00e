// The volume as layers of an image across a main axis. The source's steps are along the main axis and the other two; where the main
// axis has the step of 1 (x), a tile in local memory keeps reads side by side.
#ifndef ALONG_X
#define ALONG_X 0
#endif
#define TILE 32

kernel __attribute__((reqd_work_group_size(TILE, 8, 1))) void tomography_joseph_layers(global const float *restrict f,
                                                                                       write_only image2d_array_t layers, const int na,
                                                                                       const int nb, const int nc, const long step_a,
                                                                                       const long step_b, const long step_c) {
    const int x = get_local_id(0), y = get_local_id(1), c = get_global_id(2);
    const int from_b = (int)get_group_id(0) * TILE, from_k = (int)get_group_id(1) * TILE;
#if ALONG_X
    local float tile[TILE][TILE + 1];
    for (int i = y; i < TILE; i += 8) {
        const int b = from_b + i, k = from_k + x;
        tile[i][x] = b < nb && k < na ? f[k * step_a + b * step_b + c * step_c] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#define VALUE tile[x][i]
#else
#define VALUE f[k * step_a + b * step_b + c * step_c]
#endif
    for (int i = y; i < TILE; i += 8) {
        const int b = from_b + x, k = from_k + i;
        if (b < nb && k < na) write_imagef(layers, (int4)(b, c, k, 0), (float4)(VALUE, 0, 0, 0));
    }
}
