// A v, a row to each work-item, four columns a step, from global memory.
kernel void matvec_image_global_loads(global const float4* A, global const float4* v, global float* y, const int rows,
                                      const int fours) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float dot_product = 0;
    for (int i = 0; i < fours; ++i) dot_product += dot(A[(size_t)row * fours + i], v[i]);
    y[row] = dot_product;
}
