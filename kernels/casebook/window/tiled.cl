// The group copies what it needs into local memory, from where a line of memory begins, and adds up from there: each
// element is read once. A cache does the same without a copy and a barrier.
#define GROUP 256
#define FIRST 15
#define HALO 17

kernel void window_tiled(global const float* in, global float* out, const int n) {
    local float tile[GROUP + HALO];
    const int item = get_local_id(0), i = get_global_id(0);
    if (i < n + HALO) tile[item] = in[i];
    if (item < HALO && i + GROUP < n + HALO) tile[GROUP + item] = in[i + GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) out[i] = tile[item + FIRST + 2] + tile[item + FIRST + 1] + tile[item + FIRST];
}
