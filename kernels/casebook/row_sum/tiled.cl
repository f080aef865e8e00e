// A group of 32 x 8 work-items carries a tile of 32 x 32 elements after another into local memory: neighbours read
// neighbouring columns. Then each work-item adds up four columns of its row of the tile. Two barriers a tile, which CPUs
// pay for, and the tile is a copy that they do not need.
#define TILE 32
#define PARTS 8

kernel void row_sum_tiled(global const float* X, global float* s, const int rows, const int columns) {
    local float tile[TILE][TILE + 1];  // one more, so that a column lies in as many banks as it has rows
    local float parts[PARTS][TILE];
    const int x = get_local_id(0), y = get_local_id(1), first = get_group_id(0) * TILE;
    float sum = 0;
    for (int left = 0; left < columns; left += TILE) {
        for (int r = y; r < TILE; r += PARTS) {
            const bool inside = first + r < rows && left + x < columns;
            tile[r][x] = inside ? X[(size_t)(first + r) * columns + left + x] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = y * (TILE / PARTS); i < (y + 1) * (TILE / PARTS); ++i) sum += tile[x][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    parts[y][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (y > 0 || first + x >= rows) return;
    for (int p = 1; p < PARTS; ++p) sum += parts[p][x];
    s[first + x] = sum;
}
