// Copies n x n floats in work-groups of 8 x 32. 32 neighbours are in four rows, and each is a quarter of a line.
kernel void copy2d_8x32(global const float* X, global float* Y, const int n) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < n && y < n) Y[(size_t)y * n + x] = X[(size_t)y * n + x];
}
