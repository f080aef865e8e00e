// Paths of a price, and of its derivative by the volatility, one by each work-item; normal numbers are given. Each step
// makes a double of its number and multiplies it by the drift of a step.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void asian_strength_product_each_step(global const double* z, global double* price, global double* slope,
                                             const int paths, const int steps, const double growth, const double spread,
                                             const double drift, const double sigma) {
    const int path = get_global_id(0);
    if (path >= paths) return;
    double S = 1, prices = 0, slopes = 0;
    for (int i = 1; i <= steps; ++i) {
        S *= exp(growth + spread * z[(size_t)(i - 1) * paths + path]);
        slopes += S * (log(S) - drift * i) / sigma;
        prices += S;
    }
    price[path] = prices / steps;
    slope[path] = slopes / steps;
}
