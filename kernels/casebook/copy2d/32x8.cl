// Copies n x n floats in work-groups of 32 x 8. 32 neighbours are in one row.
kernel void copy2d_32x8(global const float* X, global float* Y, const int n) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < n && y < n) Y[(size_t)y * n + x] = X[(size_t)y * n + x];
}
