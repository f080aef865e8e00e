// Squares by pow, the function for any real exponent: a logarithm, an exponential and the cases of signs, infinities
// and zeros, unless the compiler sees through it.
kernel void pow_square_power(global const float* A, global const float* B, global const float* spread,
                             global float* out, const float scale, const int centers, const int samples,
                             const int width) {
    float distance = 0;
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= centers || y >= samples) return;
    for (int i = 0; i < width; ++i) {
        distance += pow(A[(size_t)x * width + i] - B[(size_t)y * width + i], 2.0f);
    }
    out[(size_t)y * centers + x] = exp(-distance / (scale * spread[x] * spread[x]));
}
