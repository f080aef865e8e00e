// The same in groups of 32 x 8: 32 neighbours read whole rows of 128 bytes, and rows above and below serve the group.
float bend(global const float* p, const int step) { return p[step] + p[-step] - 2 * p[0]; }

kernel void laplacian_block_32x8x1(global const float* p, global float* out, const float per_hx2, const float per_hy2,
                                   const float per_hz2, const float scale, const int nx, const int ny, const int nz) {
    const int row = nz + 2, plane = row * (ny + 2);
    const int k = get_group_id(0) * 32 + get_local_id(0);
    const int j = get_group_id(1) * 8 + get_local_id(1);
    const int i = get_global_id(2);
    if (i >= nx || j >= ny || k >= nz) return;
    global const float* at = p + (size_t)(i + 1) * plane + (j + 1) * row + k + 1;
    out[((size_t)i * ny + j) * nz + k] +=
        scale * (per_hx2 * bend(at, plane) + per_hy2 * bend(at, row) + per_hz2 * bend(at, 1));
}
