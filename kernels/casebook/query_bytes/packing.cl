// As packed, after a pass that packs the queries: what a program gains that gets bytes.
kernel void query_bytes_pack(global const uchar* Q, global uint* made, const int N, const int L) {
    const int n = get_global_id(0), part = get_global_id(1);
    if (n < N && part < L / 4) made[(size_t)part * N + n] = ((global const uint*)Q)[(size_t)n * (L / 4) + part];
}

kernel void query_bytes_match(global const uint* made, global const uchar* ref, global const int* start,
                              global int* out, const int N, const int L) {
    const int n = get_global_id(0);
    if (n >= N) return;
    global const uchar* other = ref + start[n];
    int i = 0;
    uint differ = 0;
    while (i < L && (differ = made[(size_t)(i / 4) * N + n] ^ as_uint(vload4(0, other + i))) == 0) i += 4;
    out[n] = i + (differ ? (31 - (int)clz(differ & -differ)) / 8 : 0);
}
