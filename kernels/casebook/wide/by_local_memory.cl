// As struct_per_item, but a group copies the floats of its structs to local memory, neighbours side by side, works on
// the structs there, and copies them back alike. Costs two barriers, and local memory for all structs of the group.
#define GROUP 128

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void wide_by_local_memory(global const float* X,
                                                                                    global float* Y, const int n) {
    local float tile[GROUP * (WIDTH + 1)];
    const int item = get_local_id(0), first = get_group_id(0) * GROUP;
    const int floats = min(GROUP, n - first) * WIDTH;
    for (int j = item; j < floats; j += GROUP) tile[j / WIDTH * (WIDTH + 1) + j % WIDTH] = X[first * WIDTH + j];
    barrier(CLK_LOCAL_MEM_FENCE);
    local float* own = tile + item * (WIDTH + 1);
    for (int j = 0; j < WIDTH / 2; ++j) {
        const float one = own[j];
        own[j] = own[WIDTH - 1 - j];
        own[WIDTH - 1 - j] = one;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = item; j < floats; j += GROUP) Y[first * WIDTH + j] = tile[j / WIDTH * (WIDTH + 1) + j % WIDTH];
}
