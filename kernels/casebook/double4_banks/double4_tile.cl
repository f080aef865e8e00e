// Accelerations of bodies by all bodies, a tile of them after another by way of local memory. A body is a double4, so
// that neighbouring work-items write 32 bytes apart, four times to the same banks. All of them then read the same body
// at a time, which is no conflict.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LOCAL 64

kernel void double4_banks_double4_tile(global const double4* bodies, global double* a, const int n,
                                       const double softening) {
    local double4 tile[LOCAL];
    const int i = get_global_id(0), l = get_local_id(0);
    const double4 own = bodies[min(i, n - 1)];
    double3 sum = 0;
    for (int first = 0; first < n; first += LOCAL) {
        tile[l] = first + l < n ? bodies[first + l] : (double4)(0.0);  // a body without mass does nothing
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < LOCAL; ++j) {
            const double3 d = tile[j].xyz - own.xyz;
            const double q = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening * softening);
            sum += tile[j].w * (q * q * q) * d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) vstore3(sum, i, a);
}
