// Copies n x n floats in work-groups of 16 x 16. The first shape that comes to mind: 32 neighbours are in two rows.
kernel void copy2d_16x16(global const float* X, global float* Y, const int n) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < n && y < n) Y[(size_t)y * n + x] = X[(size_t)y * n + x];
}
