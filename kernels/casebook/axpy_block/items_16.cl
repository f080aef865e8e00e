// y + alpha x by groups of 16 work-items: half of the 32 lanes that GPUs run together have nothing to do.
kernel void axpy_block_items_16(global const float* x, global float* y, const float alpha, const int n) {
    const int i = get_group_id(0) * 16 + get_local_id(0);
    if (i < n) y[i] += alpha * x[i];
}
