// Matrix products as Jang 2009 steps them, on row-major buffers: square, the size an argument, a work-item a column and a row.
kernel void naive(global const float* A, global const float* B, global float* C, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}

kernel void four_columns(global const float* A, global const float4* B, global float4* C, int n) {
    int column = get_global_id(0), row = get_global_id(1), quarter = n / 4;
    float4 sum = (float4)(0.0f);
    for (int k = 0; k < n; k += 4) {
        float4 a = *(global const float4*)(A + row * n + k);
        sum += a.x * B[k * quarter + column];
        sum += a.y * B[(k + 1) * quarter + column];
        sum += a.z * B[(k + 2) * quarter + column];
        sum += a.w * B[(k + 3) * quarter + column];
    }
    C[row * quarter + column] = sum;
}

kernel void eight_rows(global const float4* A, global const float4* B, global float4* C, int n) {
    int column = get_global_id(0), row = 8 * get_global_id(1), quarter = n / 4;
    float4 sum[8];
#pragma unroll
    for (int i = 0; i < 8; i++) sum[i] = (float4)(0.0f);
    for (int k = 0; k < quarter; k++) {
        float4 b0 = B[(4 * k) * quarter + column], b1 = B[(4 * k + 1) * quarter + column];
        float4 b2 = B[(4 * k + 2) * quarter + column], b3 = B[(4 * k + 3) * quarter + column];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float4 a = A[(row + i) * quarter + k];
            sum[i] += a.x * b0;
            sum[i] += a.y * b1;
            sum[i] += a.z * b2;
            sum[i] += a.w * b3;
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) C[(row + i) * quarter + column] = sum[i];
}

#define UNROLLED(NAME, STEPS)                                                                      \
    kernel void NAME(global const float* A, global const float* B, global float* C, int n) {       \
        int column = get_global_id(0), row = get_global_id(1);                                     \
        float sum = 0.0f;                                                                          \
        for (int k = 0; k < n; k += STEPS) {                                                       \
            _Pragma("unroll") for (int i = 0; i < STEPS; i++)                                      \
                sum += A[row * n + k + i] * B[(k + i) * n + column];                               \
        }                                                                                          \
        C[row * n + column] = sum;                                                                 \
    }
UNROLLED(unrolled4, 4)
UNROLLED(unrolled8, 8)
UNROLLED(unrolled16, 16)

kernel void private_array(global const int* at, global const float* x, global float* y) {
    float kept[256];
    for (int i = 0; i < 256; i++) kept[i] = x[i];
    y[get_global_id(0)] = kept[at[get_global_id(0)] & 255];
}
