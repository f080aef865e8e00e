// The volume with another axis side by side in memory and zeros around it. Counts, margins and the source's steps are of the outer, middle
// and inner axis of the copy, whose rows are `pitch` floats. ACROSS: the middle axis is the source's own inner one, and a tile in local
// memory keeps reads side by side too.
#ifndef ACROSS
#define ACROSS 0
#endif
#define TILE 32

kernel __attribute__((reqd_work_group_size(TILE, 8, 1))) void tomography_joseph_copy(global const float *restrict f, global float *restrict copy,
                                                                                     const int outer, const int middle, const int inner,
                                                                                     const long outer_step, const long middle_step,
                                                                                     const long inner_step, const int outer_margin,
                                                                                     const int middle_margin, const int inner_margin,
                                                                                     const int pitch) {
    const int x = get_local_id(0), y = get_local_id(1), o = (int)get_global_id(2) - outer_margin;
    const int first_i = (int)get_group_id(0) * TILE, first_m = (int)get_group_id(1) * TILE;
    const bool inside = o >= 0 && o < outer;
    local float tile[TILE][TILE + 1];
    for (int row = y; row < TILE; row += 8) {
        const int i = first_i + (ACROSS ? row : x) - inner_margin, m = first_m + (ACROSS ? x : row) - middle_margin;
        const bool held = inside && i >= 0 && i < inner && m >= 0 && m < middle;
        tile[row][x] = held ? f[o * outer_step + m * middle_step + i * inner_step] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = y; row < TILE; row += 8) {
        const int i = first_i + x, m = first_m + row;
        if (i < pitch && m < middle + 2 * middle_margin)
            copy[(get_global_id(2) * (middle + 2 * middle_margin) + m) * pitch + i] = ACROSS ? tile[x][row] : tile[row][x];
    }
}
