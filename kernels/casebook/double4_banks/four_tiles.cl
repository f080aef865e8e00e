// As double4_tile, but with an array of doubles for each coordinate and one for the masses: neighbouring work-items
// write neighbouring doubles, and no banks conflict. Costs four loads for each pair of bodies in place of one or two
// wide ones.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LOCAL 64

kernel void double4_banks_four_tiles(global const double4* bodies, global double* a, const int n,
                                     const double softening) {
    local double x[LOCAL], y[LOCAL], z[LOCAL], m[LOCAL];
    const int i = get_global_id(0), l = get_local_id(0);
    const double4 own = bodies[min(i, n - 1)];
    double3 sum = 0;
    for (int first = 0; first < n; first += LOCAL) {
        const double4 body = first + l < n ? bodies[first + l] : (double4)(0.0);  // one without mass does nothing
        x[l] = body.x;
        y[l] = body.y;
        z[l] = body.z;
        m[l] = body.w;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < LOCAL; ++j) {
            const double3 d = (double3)(x[j], y[j], z[j]) - own.xyz;
            const double q = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening * softening);
            sum += m[j] * (q * q * q) * d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) vstore3(sum, i, a);
}
