// As byte_per_item, but a work-item copies four bytes as one uint. The last one may have fewer, and copies them alone.
kernel void narrow_four_as_uint(global const uchar* X, global uchar* Y, const int n) {
    const int i = get_global_id(0);
    if (4 * i + 4 <= n) {
        ((global uint*)Y)[i] = ((global const uint*)X)[i];
        return;
    }
    for (int j = 4 * i; j < n; ++j) Y[j] = X[j];
}
