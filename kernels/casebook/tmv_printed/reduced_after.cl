// A^T v in groups of BX columns x BY strips of rows. Each work-item adds up its strip in all tiles; then the strips of
// a column are added in local memory, once.
#define BX 32
#define BY 8

kernel __attribute__((reqd_work_group_size(BX, BY, 1))) void tmv_printed_reduced_after(global const float* A,
                                                                                       global const float* v,
                                                                                       global float* y, const int rows,
                                                                                       const int columns) {
    local float part[BY][BX], tile[BY][BX];
    const int x = get_local_id(0), strip = get_local_id(1), column = get_global_id(0);
    float sum = 0;
    for (int first = 0; first < rows; first += BX * BY) {
        const int row = first + strip * BX;
        tile[strip][x] = row + x < rows ? v[row + x] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < BX; ++i)
            if (row + i < rows && column < columns) sum += A[(size_t)(row + i) * columns + column] * tile[strip][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    part[strip][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (strip == 0)
        for (int i = 1; i < BY; ++i) sum += part[i][x];
    if (strip == 0 && column < columns) y[column] = sum;
}
