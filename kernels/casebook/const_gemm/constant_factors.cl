// As global_factors, but those 16 of A are in constant memory, which hands one place to all work-items of a warp at
// once.
kernel void const_gemm_constant_factors(constant float* T, global const float* B, global float* C, const int n) {
    const int column = get_global_id(0);
    if (column >= n) return;
    float sum[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) sum[j] = 0;
    for (int i = 0; i < 128; ++i) {
        const float b = B[(size_t)i * n + column];
#pragma unroll
        for (int j = 0; j < 16; ++j) sum[j] += b * T[16 * i + j];
    }
#pragma unroll
    for (int j = 0; j < 16; ++j) C[(size_t)j * n + column] = sum[j];
}
