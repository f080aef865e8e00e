// Copies WIDTH neighbouring numbers by each work-item, one at a time. At each step work-items read WIDTH numbers apart,
// so that a load of a warp touches WIDTH times the memory that it wants, and the next load asks for the same again.
kernel void adjacent_scalars(global const float* X, global float* Y, const int items) {
    const int i = get_global_id(0);
    if (i >= items) return;
    for (int j = 0; j < WIDTH; ++j) Y[(size_t)WIDTH * i + j] = X[(size_t)WIDTH * i + j];
}
