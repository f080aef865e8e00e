// An element of A v by a work-group: its items read neighbouring columns, and a tree in local memory adds up what each
// has.
#define GROUP 256

kernel void vec_mul_row_per_group(global const float* A, global const float* v, global float* y, const int rows,
                                  const int columns) {
    local float parts[GROUP];
    const int row = get_group_id(0), item = get_local_id(0);
    float part = 0;
    for (int i = item; i < columns; i += GROUP) part += A[(size_t)row * columns + i] * v[i];
    parts[item] = part;
    for (int left = GROUP / 2; left > 0; left /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < left) parts[item] += parts[item + left];
    }
    if (item == 0) y[row] = parts[0];
}
