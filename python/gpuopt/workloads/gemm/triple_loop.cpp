// C = A B of row-major matrices as three loops in the order of the formula, without blocks: what papers of 2009 call the
// serial code. With OpenMP, threads over rows. No -ffast-math: each sum is added in order, in its own type.
template <class Real>
static void product(const Real* a, const Real* b, Real* c, long rows, long columns, long depth) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < columns; ++j) {
            Real sum = 0;
            for (long k = 0; k < depth; ++k) sum += a[i * depth + k] * b[k * columns + j];
            c[i * columns + j] = sum;
        }
}

extern "C" void product_float32(const float* a, const float* b, float* c, long rows, long columns, long depth) {
    product(a, b, c, rows, columns, depth);
}
extern "C" void product_float64(const double* a, const double* b, double* c, long rows, long columns, long depth) {
    product(a, b, c, rows, columns, depth);
}
