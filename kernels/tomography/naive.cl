// A voxel a work-item; for each view it turns the voxel into the source's frame, then finds channel and row on the arc by functions of
// their own, with full-precision sine, cosine, arc tangent and root, and tests each of four taps. (Jang 2009, naive)
#include "tomography/include/arc.cl"

inline float channel_of(const float s, const float depth, const float channels, const float middle) {
    return atan2(s, depth) * channels + middle;
}
inline float row_of(const float s, const float depth, const float w, const float rows, const float middle) {
    return w / sqrt(s * s + depth * depth) * rows + middle;
}
inline float tap(global const float *view, const int column, const int row, const int columns, const int rows) {
    if (column < 0 || column >= columns || row < 0 || row >= rows) return 0;
    return view[row * columns + column];
}

ARC_KERNEL tomography_naive(ARC_ARGUMENTS) {
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny) return;
    const float px = FIRST.x + x * CELL.x, py = FIRST.y + y * CELL.y, pz = FIRST.z + z * CELL.z;
    const int stream = (views + 3) / 4 * 4;
    float sum = 0;
    for (int i = 0; i < views; ++i) {
        const float angle = streams[i];
        const float s = px * cos(angle) + py * sin(angle);
        const float depth = SOD - (px * sin(angle) - py * cos(angle));
        const float w = pz - streams[stream + i];
        // Far outside, fewer than one pixel away suffices, and is a whole number.
        const float channel = clamp(channel_of(s, depth, CHANNELS, MIDDLE_CHANNEL), -2.0f, columns + 1.0f);
        const float row = clamp(row_of(s, depth, w, ROWS, MIDDLE_ROW), -2.0f, rows + 1.0f);
        const int column = (int)floor(channel), line = (int)floor(row);
        const float right = channel - column, down = row - line;
        global const float *view = projections + (size_t)i * rows * columns;
        const float upper = (1 - right) * tap(view, column, line, columns, rows) + right * tap(view, column + 1, line, columns, rows);
        const float lower =
            (1 - right) * tap(view, column, line + 1, columns, rows) + right * tap(view, column + 1, line + 1, columns, rows);
        sum += ARC_WEIGHT(s * s + depth * depth, w) * ((1 - down) * upper + down * lower);
    }
    global float *voxel = volume + ((size_t)z * ny + y) * nx + x;
    *voxel = (accumulate ? *voxel : 0) + sum;
}
