// As local_window, in a program for each K, which is the macro LENGTH. The loop over the window is unrolled, so that each
// index is a number and the window stays in registers. Costs a build for each K.
kernel void kmer_specialized(global const uchar* reads, global const uint* bits, global uint* found, const int N,
                             const int L, const uint M) {
    const int read = get_global_id(0);
    if (read >= N) return;
    uchar space[LENGTH];
#pragma unroll
    for (int i = 0; i < LENGTH; ++i) space[i] = reads[(size_t)read * L + i];
    uint count = 0;
    for (int place = 0; place < LENGTH; ++place)
        for (uint base = 0; base < 4; ++base) {
            uint hash = 2166136261u;
#pragma unroll
            for (int i = 0; i < LENGTH; ++i) hash = (hash ^ (i == place ? base : space[i])) * 16777619u;
            const uint bit = hash % M;
            count += bits[bit / 32] >> bit % 32 & 1;
        }
    found[read] = count;
}
