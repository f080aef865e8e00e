// As argument, in a program for each least length, which is the macro MINLEN: its loop is unrolled. Costs a build for
// each length.
kernel void min_match_specialized(global const uchar* Q, global const uchar* ref, global const int* start,
                                  global int* out, const int N, const int L) {
    const int n = get_global_id(0);
    if (n >= N) return;
    global const uchar* other = ref + start[n];
    global const uchar* query = Q + (size_t)n * L;
    bool same = true;
#pragma unroll
    for (int i = 0; i < MINLEN; ++i) same &= query[i] == other[i];
    int i = MINLEN;
    while (same && i < L && query[i] == other[i]) ++i;
    out[n] = same ? i : 0;
}
