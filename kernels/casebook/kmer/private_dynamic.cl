// As local_window, but the window is an array of each work-item's own. K stays an argument, so that the array is indexed
// by what is known at run time alone: registers have no such index, and GPUs keep the array in memory.
#define MOST 32

kernel void kmer_private_dynamic(global const uchar* reads, global const uint* bits, global uint* found, const int K,
                                 const int N, const int L, const uint M) {
    const int read = get_global_id(0);
    if (read >= N) return;
    uchar space[MOST];
    for (int i = 0; i < K; ++i) space[i] = reads[(size_t)read * L + i];
    uint count = 0;
    for (int place = 0; place < K; ++place)
        for (uint base = 0; base < 4; ++base) {
            uint hash = 2166136261u;
            for (int i = 0; i < K; ++i) hash = (hash ^ (i == place ? base : space[i])) * 16777619u;
            const uint bit = hash % M;
            count += bits[bit / 32] >> bit % 32 & 1;
        }
    found[read] = count;
}
