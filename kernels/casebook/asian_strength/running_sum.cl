// As product_each_step, but the drift up to a step is the one before plus that of a step: an addition in place of a
// conversion and a product. It rounds otherwise.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void asian_strength_running_sum(global const double* z, global double* price, global double* slope,
                                       const int paths, const int steps, const double growth, const double spread,
                                       const double drift, const double sigma) {
    const int path = get_global_id(0);
    if (path >= paths) return;
    double S = 1, prices = 0, slopes = 0;
    double drifted = 0;
    for (int i = 1; i <= steps; ++i) {
        S *= exp(growth + spread * z[(size_t)(i - 1) * paths + path]);
        drifted += drift;
        slopes += S * (log(S) - drifted) / sigma;
        prices += S;
    }
    price[path] = prices / steps;
    slope[path] = slopes / steps;
}
