// Copies n x n floats in work-groups of 64 x 4. 64 neighbours are in one row.
kernel void copy2d_64x4(global const float* X, global float* Y, const int n) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < n && y < n) Y[(size_t)y * n + x] = X[(size_t)y * n + x];
}
