// A square is one multiplication, which with the sum is one instruction.
kernel void pow_square_product(global const float* A, global const float* B, global const float* spread,
                               global float* out, const float scale, const int centers, const int samples,
                               const int width) {
    float d, distance = 0;
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= centers || y >= samples) return;
    for (int i = 0; i < width; ++i) {
        d = A[(size_t)x * width + i] - B[(size_t)y * width + i];
        distance += d * d;
    }
    out[(size_t)y * centers + x] = exp(-distance / (scale * spread[x] * spread[x]));
}
