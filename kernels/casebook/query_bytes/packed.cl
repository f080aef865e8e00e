// As bytes, but four bases are a uint, and the uints of all queries lie side by side: neighbours read one line of
// memory. Costs a pass that packs the queries, which a run of the kernel alone does not have.
kernel void query_bytes_packed(global const uint* packed, global const uchar* ref, global const int* start,
                               global int* out, const int N, const int L) {
    const int n = get_global_id(0);
    if (n >= N) return;
    global const uchar* other = ref + start[n];
    int i = 0;
    uint differ = 0;
    while (i < L && (differ = packed[(size_t)(i / 4) * N + n] ^ as_uint(vload4(0, other + i))) == 0) i += 4;
    out[n] = i + (differ ? (31 - (int)clz(differ & -differ)) / 8 : 0);
}
