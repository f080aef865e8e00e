// The sum of a row by one work-item, element after element. Neighbouring work-items read a row apart from each other, so
// that each load of a work-group touches as many lines of memory as it has work-items. On a CPU it is one stream a core.
kernel void row_sum_row_per_item(global const float* X, global float* s, const int rows, const int columns) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += X[(size_t)row * columns + i];
    s[row] = sum;
}
