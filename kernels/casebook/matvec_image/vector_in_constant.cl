// As global_loads, but the vector is in constant memory, of which all work-items want the same place.
kernel void matvec_image_vector_in_constant(global const float4* A, constant float4* v, global float* y, const int rows,
                                            const int fours) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float dot_product = 0;
    for (int i = 0; i < fours; ++i) dot_product += dot(A[(size_t)row * fours + i], v[i]);
    y[row] = dot_product;
}
