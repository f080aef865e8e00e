// A^T v, a column to each work-item: neighbours read side by side, but there are no more work-items than columns.
kernel void tmv_printed_column_per_item(global const float* A, global const float* v, global float* y, const int rows,
                                        const int columns) {
    const int column = get_global_id(0);
    if (column >= columns) return;
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum += A[(size_t)row * columns + column] * v[row];
    y[column] = sum;
}
