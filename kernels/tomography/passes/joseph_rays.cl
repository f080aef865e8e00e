// What the adjoint of upright scans gathers: projections times the distance between planes, a line a column, its rows side by side,
// `pitch` floats a line. Lines of a run follow one another.
#include "tomography/include/joseph.cl"
#define TILE 32

kernel __attribute__((reqd_work_group_size(TILE, 8, 1))) void tomography_joseph_rays(
    global const float *restrict p, global const float4 *restrict lines, global const int4 *restrict runs, global float *restrict q,
    const int first_run, const int first_line, const int rows, const int columns, const int pitch, const float4 cell) {
    local float tile[TILE][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1), from_n = (int)get_group_id(0) * TILE, from_j = (int)get_group_id(1) * TILE;
    const int4 run = runs[first_run + get_global_id(2)];
    const int n = from_n + x, count = RUN_COUNT(run);
    float b1 = 0, c1 = 0, more = 0;
    if (n < count) {
        const float4 line = lines[2 * ((size_t)run.w + n)];
        b1 = line.y, c1 = line.w, more = lines[2 * ((size_t)run.w + n) + 1].y;
    }
    for (int i = y; i < TILE; i += 8) {
        const int row = from_j + i;
        const bool inside = n < count && row < rows;
        const float value = inside ? p[((size_t)run.x * rows + row) * columns + RUN_COLUMN(run, n)] : 0;
        tile[i][x] = inside ? value * between_planes(b1, fma((float)(row - rows / 2), more, c1), cell) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = y; i < TILE; i += 8) {
        const int line = from_n + i, j = from_j + x;
        if (line < count && j < pitch) q[((size_t)(run.w - first_line) + line) * pitch + j] = tile[x][i];
    }
}
