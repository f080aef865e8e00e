// The same in groups of 8 x 32: of 32 neighbours, 8 read a row of A each and four rows of B, 12 lines of memory a step,
// and each row of A serves 32 work-items of the group.
kernel void activation_block_8x32(global const float* A, global const float* B, global const float* spread,
                                  global float* out, const float scale, const int centers, const int samples,
                                  const int width) {
    float distance = 0;
    const int x = get_group_id(0) * 8 + get_local_id(0), y = get_group_id(1) * 32 + get_local_id(1);
    if (x >= centers || y >= samples) return;
    for (int i = 0; i < width; ++i) {
        const float d = A[(size_t)x * width + i] - B[(size_t)y * width + i];
        distance += d * d;
    }
    out[(size_t)y * centers + x] = exp(-distance / (scale * spread[x] * spread[x]));
}
