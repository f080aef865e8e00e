// As run_time_groups, in a program for each number of sizes, which is the macro GROUPS: loops are unrolled, each index
// is a number, and the charges stay in registers while those suffice.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void dust_charge_specialized(global const double* electrons, global const double* ions,
                                    global const double* temperature, global const double* a, global const double* nd,
                                    global const double* exchange, global double* charge, const int environments,
                                    const int steps, const double tau, const double c) {
    const int e = get_global_id(0);
    if (e >= environments) return;
    double q[GROUPS], next[GROUPS];
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) q[g] = 0;
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) {
            const double phi = q[g] / (a[g] * temperature[e]);
            const double fe = exp(fmin(phi, 0.0)) * (1 + fmax(phi, 0.0));
            const double fi = exp(-fmax(phi, 0.0)) * (1 - fmin(phi, 0.0));
            double sum = a[g] * a[g] * (ions[e] * fi - c * electrons[e] * fe);
#pragma unroll
            for (int h = 0; h < GROUPS; ++h) sum += nd[h] * exchange[g * GROUPS + h] * (q[h] - q[g]);
            next[g] = q[g] + tau * sum;
        }
#pragma unroll
        for (int g = 0; g < GROUPS; ++g) q[g] = next[g];
    }
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) charge[(size_t)e * GROUPS + g] = q[g];
}
