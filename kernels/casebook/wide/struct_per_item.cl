// Structs of WIDTH floats, whose numbers are put in reverse order. A work-item reads and writes a struct of its own: in
// each load neighbours are WIDTH floats apart.
kernel void wide_struct_per_item(global const float* X, global float* Y, const int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    for (int j = 0; j < WIDTH; ++j) Y[i * WIDTH + j] = X[i * WIDTH + WIDTH - 1 - j];
}
