// Accelerations of bodies by all bodies. A group carries as many bodies as it has work-items into local memory, place
// and mass as one double4, and each work-item adds up what they do to its own body. The factor of a pair is a quotient
// with a square root below: both are sequences of many instructions in doubles on a GPU.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LOCAL 64

kernel void nbody_rsqrt_sqrt_divide(global const double4* bodies, global double* a, const int n,
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
            const double r2 = d.x * d.x + d.y * d.y + d.z * d.z + softening * softening;
            sum += tile[j].w / (r2 * sqrt(r2)) * d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) vstore3(sum, i, a);
}
