// The same by groups of 32: all lanes are busy, but a compute unit, which holds so many groups, holds few work-items.
kernel void axpy_block_items_32(global const float* x, global float* y, const float alpha, const int n) {
    const int i = get_group_id(0) * 32 + get_local_id(0);
    if (i < n) y[i] += alpha * x[i];
}
