// The same by groups of 64: enough to fill a compute unit that holds 32 groups, not one that holds 8.
kernel void axpy_block_items_64(global const float* x, global float* y, const float alpha, const int n) {
    const int i = get_group_id(0) * 64 + get_local_id(0);
    if (i < n) y[i] += alpha * x[i];
}
