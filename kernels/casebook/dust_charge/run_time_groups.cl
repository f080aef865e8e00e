// Charges of grains of dust of G sizes in a plasma, an environment to each work-item, step after step. G is an
// argument, so that the charges are arrays with an index that only the run knows: GPUs keep such arrays in memory.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define MOST 8

kernel void dust_charge_run_time_groups(global const double* electrons, global const double* ions,
                                        global const double* temperature, global const double* a,
                                        global const double* nd, global const double* exchange, global double* charge,
                                        const int environments, const int G, const int steps, const double tau,
                                        const double c) {
    const int e = get_global_id(0);
    if (e >= environments) return;
    double q[MOST], next[MOST];
    for (int g = 0; g < G; ++g) q[g] = 0;
    for (int step = 0; step < steps; ++step) {
        for (int g = 0; g < G; ++g) {
            const double phi = q[g] / (a[g] * temperature[e]);
            const double fe = exp(fmin(phi, 0.0)) * (1 + fmax(phi, 0.0));
            const double fi = exp(-fmax(phi, 0.0)) * (1 - fmin(phi, 0.0));
            double sum = a[g] * a[g] * (ions[e] * fi - c * electrons[e] * fe);
            for (int h = 0; h < G; ++h) sum += nd[h] * exchange[g * G + h] * (q[h] - q[g]);
            next[g] = q[g] + tau * sum;
        }
        for (int g = 0; g < G; ++g) q[g] = next[g];
    }
    for (int g = 0; g < G; ++g) charge[(size_t)e * G + g] = q[g];
}
