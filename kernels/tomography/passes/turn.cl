// Copies views transposed, a row and a column in from the corner of larger ones that are 0 elsewhere: each column of pixels becomes a
// row of `line` elements. A work-item a row, so that a CPU writes whole cache lines.
kernel void tomography_turn(global const float *restrict from, global float *restrict to, const long first, const int columns,
                            const int rows, const int line) {
    const int u = (int)get_global_id(0) - 1, view = get_global_id(1);
    global float *row = to + ((size_t)view * (columns + 3) + u + 1) * line;
    global const float *column = from + (size_t)(first + view) * rows * columns + u;
    const bool inside = u >= 0 && u < columns;
    for (int v = -1; v < line - 1; ++v) row[v + 1] = inside && v >= 0 && v < rows ? column[(size_t)v * columns] : 0;
}
