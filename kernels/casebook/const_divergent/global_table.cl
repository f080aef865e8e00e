// Looks up a small table at indices from the data. The table is in global memory that is only read: loads of a
// work-group go to as many lines of a cache as the table has, whatever the indices are.
kernel void const_divergent_global_table(global const uchar* index, global const float* restrict table,
                                         global float* out, const int n) {
    const int i = get_global_id(0);
    if (i < n) out[i] = table[index[i]];
}
