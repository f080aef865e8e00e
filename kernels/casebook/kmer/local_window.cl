// A work-item takes the first K bases of its read, puts each base at each place in turn, and counts how many of the 4 K
// words hash to a bit that is set. The window lies in local memory, a column for each work-item, and K is an argument:
// every step of a hash reads local memory and counts its loop.
#define LOCAL 64

kernel void kmer_local_window(global const uchar* reads, global const uint* bits, global uint* found, local uchar* space,
                              const int K, const int N, const int L, const uint M) {
    const int read = get_global_id(0), item = get_local_id(0);
    if (read >= N) return;
    for (int i = 0; i < K; ++i) space[i * LOCAL + item] = reads[(size_t)read * L + i];
    uint count = 0;
    for (int place = 0; place < K; ++place)
        for (uint base = 0; base < 4; ++base) {
            uint hash = 2166136261u;
            for (int i = 0; i < K; ++i) hash = (hash ^ (i == place ? base : space[i * LOCAL + item])) * 16777619u;
            const uint bit = hash % M;
            count += bits[bit / 32] >> bit % 32 & 1;
        }
    found[read] = count;
}
