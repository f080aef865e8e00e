// Copies views into the layers of an image, by tiles; a work-item has pixels of PER views under way.
#ifndef PER
#define PER 4
#endif

kernel void tomography_layers(global const float *restrict from, write_only image2d_array_t to, const long first, const int count,
                              const int columns, const int rows) {
    const int x = get_global_id(0), y = get_global_id(1), layer = get_global_id(2) * PER;
    if (x >= columns || y >= rows) return;
    const size_t view = (size_t)rows * columns;
    from += (first + layer) * view + y * columns + x;
    float pixel[PER];
#pragma unroll
    for (int i = 0; i < PER; ++i) pixel[i] = layer + i < count ? from[i * view] : 0;
#pragma unroll
    for (int i = 0; i < PER; ++i)
        if (layer + i < count) write_imagef(to, (int4)(x, y, layer + i, 0), (float4)(pixel[i]));
}
