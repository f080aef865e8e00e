// As global_loads, but the matrix is an image of four floats a pixel: its cache is one of tiles, in which rows that are
// neighbours lie close to each other.
constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void matvec_image_matrix_in_image(read_only image2d_t A, global const float4* v, global float* y, const int rows,
                                         const int fours) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float dot_product = 0;
    for (int i = 0; i < fours; ++i) dot_product += dot(read_imagef(A, nearest, (int2)(i, row)), v[i]);
    y[row] = dot_product;
}
