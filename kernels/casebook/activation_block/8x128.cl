// The same in groups of 8 x 128, the largest that most GPUs launch: a compute unit has room for one or two of them.
kernel __attribute__((reqd_work_group_size(8, 128, 1))) void activation_block_8x128(
    global const float* A, global const float* B, global const float* spread, global float* out, const float scale,
    const int centers, const int samples, const int width) {
    float distance = 0;
    const int x = get_group_id(0) * 8 + get_local_id(0), y = get_group_id(1) * 128 + get_local_id(1);
    if (x >= centers || y >= samples) return;
    for (int i = 0; i < width; ++i) {
        const float d = A[(size_t)x * width + i] - B[(size_t)y * width + i];
        distance += d * d;
    }
    out[(size_t)y * centers + x] = exp(-distance / (scale * spread[x] * spread[x]));
}
