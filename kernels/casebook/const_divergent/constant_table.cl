// As global_table, but the table is in constant memory, which serves one address at a time to all work-items of a warp:
// indices that differ are served one after another.
kernel void const_divergent_constant_table(global const uchar* index, constant float* table, global float* out,
                                           const int n) {
    const int i = get_global_id(0);
    if (i < n) out[i] = table[index[i]];
}
