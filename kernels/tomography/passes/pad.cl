// Copies views one pixel in from the corner of larger ones, which are 0 elsewhere: a column and a row before each, two after.
kernel void tomography_pad(global const float *restrict from, global float *restrict to, const long first, const int columns,
                           const int rows) {
    const int x = get_global_id(0), y = get_global_id(1), wide = columns + 3, high = rows + 3;
    if (x >= wide || y >= high) return;
    const bool inside = x > 0 && x <= columns && y > 0 && y <= rows;
    const size_t view = get_global_id(2);
    to[(view * high + y) * wide + x] = inside ? from[((size_t)(first + view) * rows + y - 1) * columns + x - 1] : 0;
}
