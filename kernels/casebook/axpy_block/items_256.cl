// The same by groups of 256: a few of them fill a compute unit.
kernel void axpy_block_items_256(global const float* x, global float* y, const float alpha, const int n) {
    const int i = get_group_id(0) * 256 + get_local_id(0);
    if (i < n) y[i] += alpha * x[i];
}
