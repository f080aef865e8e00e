// As sqrt_divide, but the factor of a pair is the mass times the third power of the reciprocal square root: one
// function that GPUs have a start in hardware for, and three products, in place of a root and a division.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LOCAL 64

kernel void nbody_rsqrt_reciprocal_root(global const double4* bodies, global double* a, const int n,
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
