// Copies views into the layers of an image, by tiles.
kernel void tomography_layers(global const float *restrict from, write_only image2d_array_t to, const long first, const int columns,
                              const int rows) {
    const int x = get_global_id(0), y = get_global_id(1), layer = get_global_id(2);
    if (x >= columns || y >= rows) return;
    const size_t view = first + layer;
    write_imagef(to, (int4)(x, y, layer, 0), (float4)(from[(view * rows + y) * columns + x]));
}
