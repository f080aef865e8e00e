// One activation by each work-item, in groups of 16 x 16. Of 32 neighbours, 16 read a row of A each and two rows of B:
// 18 lines of memory a step, and the group needs those of 16 rows of A again and again.
kernel void activation_block_16x16(global const float* A, global const float* B, global const float* spread,
                                   global float* out, const float scale, const int centers, const int samples,
                                   const int width) {
    float distance = 0;
    const int x = get_group_id(0) * 16 + get_local_id(0), y = get_group_id(1) * 16 + get_local_id(1);
    if (x >= centers || y >= samples) return;
    for (int i = 0; i < width; ++i) {
        const float d = A[(size_t)x * width + i] - B[(size_t)y * width + i];
        distance += d * d;
    }
    out[(size_t)y * centers + x] = exp(-distance / (scale * spread[x] * spread[x]));
}
