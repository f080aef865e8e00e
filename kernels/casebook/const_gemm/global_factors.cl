// 16 rows of A B: a work-item has a column, and multiplies each element of it with 16 of A, which all work-items read
// from the same place of global memory.
kernel void const_gemm_global_factors(global const float* T, global const float* B, global float* C, const int n) {
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
