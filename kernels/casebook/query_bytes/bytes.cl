// How many bases each query has in common with the reference from its place on. A work-item goes along a row of
// queries, a byte a step, and neighbours read a whole query apart. It ends at the first base that differs.
kernel void query_bytes_bytes(global const uchar* Q, global const uchar* ref, global const int* start, global int* out,
                              const int N, const int L) {
    const int n = get_global_id(0);
    if (n >= N) return;
    global const uchar* other = ref + start[n];
    int i = 0;
    while (i < L && Q[(size_t)n * L + i] == other[i]) ++i;
    out[n] = i;
}
