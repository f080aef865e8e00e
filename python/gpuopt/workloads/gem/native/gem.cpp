// The sum that GEM's K0 is, as plainly as it can be written: one loop over atoms for each vertex, in `threads` threads
// over vertices (0: as many as OpenMP takes). Held beside the kernels on CPUs; compiled with -O3 -march=native
// -ffast-math -fopenmp.
#include <omp.h>

#include <cmath>

template <class Real>
static void potential(const Real* x, const Real* y, const Real* z, const Real* q, long atoms, const Real* points,
                      long vertices, Real scale, Real offset, Real* phi, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads > 0 ? threads : omp_get_max_threads())
    for (long v = 0; v < vertices; ++v) {
        const Real px = points[3 * v], py = points[3 * v + 1], pz = points[3 * v + 2];
        Real sum = 0;
        for (long i = 0; i < atoms; ++i) {
            const Real dx = px - x[i], dy = py - y[i], dz = pz - z[i];
            sum += q[i] / std::sqrt(dx * dx + dy * dy + dz * dz);
        }
        phi[v] = scale * sum + offset;
    }
}

extern "C" void gem_float32(const float* x, const float* y, const float* z, const float* q, long atoms,
                            const float* points, long vertices, double scale, double offset, float* phi,
                            int threads) {
    potential<float>(x, y, z, q, atoms, points, vertices, float(scale), float(offset), phi, threads);
}
extern "C" void gem_float64(const double* x, const double* y, const double* z, const double* q, long atoms,
                            const double* points, long vertices, double scale, double offset, double* phi,
                            int threads) {
    potential<double>(x, y, z, q, atoms, points, vertices, scale, offset, phi, threads);
}
