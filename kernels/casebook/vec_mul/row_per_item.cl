// An element of A v by one work-item, which goes along a row of A. Neighbouring work-items read a whole row apart. On a
// CPU it is one stream a core.
kernel void vec_mul_row_per_item(global const float* A, global const float* v, global float* y, const int rows,
                                 const int columns) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float dot = 0;
    for (int i = 0; i < columns; ++i) dot += A[(size_t)row * columns + i] * v[i];
    y[row] = dot;
}
