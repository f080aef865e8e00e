// The bases that each query has in common with the reference, or 0 where they are fewer than a least length. That
// length is an argument: its loop counts and tests at each base.
kernel void min_match_argument(global const uchar* Q, global const uchar* ref, global const int* start, global int* out,
                               const int N, const int L, const int minimum) {
    const int n = get_global_id(0);
    if (n >= N) return;
    global const uchar* other = ref + start[n];
    global const uchar* query = Q + (size_t)n * L;
    bool same = true;
    for (int i = 0; i < minimum; ++i) same &= query[i] == other[i];
    int i = minimum;
    while (same && i < L && query[i] == other[i]) ++i;
    out[n] = same ? i : 0;
}
