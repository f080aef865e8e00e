// Arithmetic on arrays of REAL (float or double), and of float what iterations compute between projections; four elements at once. Sums
// are fp64 where the device has it, else pairs of floats that keep what a float loses. A group leaves its own sums, which the host adds
// when somebody reads them.
#include "common/real.cl"
#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double Sum;
#define ADD(sum, value) (sum) += (value)
#define JOIN(one, other) ((one) + (other))
#define SUM_OF(value) ((double)(value))
#else
typedef float2 Sum;
#define ADD(sum, value) (sum) = joined(sum, (float2)(value, 0))
#define JOIN(one, other) joined(one, other)
#define SUM_OF(value) ((float2)(value, 0))
#endif
#define GROUP 256
#define KERNEL kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

// The sum of two floats and what rounding took from it, whichever is larger.
inline float2 joined(const float2 one, const float2 other) {
    const float sum = one.x + other.x, part = sum - one.x;
    return (float2)(sum, ((one.x - (sum - part)) + (other.x - part)) + (one.y + other.y));
}

#define AT4(x) ((global float4 *)(x))[i]
#define READ4(x) ((global const float4 *)(x))[i]
#define EACH(four, one)                                                              \
    for (ulong i = get_global_id(0); i < n / 4; i += get_global_size(0)) { four; }   \
    for (ulong i = n / 4 * 4 + get_global_id(0); i < n; i += get_global_size(0)) { one; }

#define REAL_AT4(x) ((global REAL4 *)(x))[i]
#define REAL_READ4(x) ((global const REAL4 *)(x))[i]

// out = a x + b y: a sum, a difference or a multiple of one added to another.
KERNEL arithmetic_combine(const REAL a, global const REAL *x, const REAL b, global const REAL *y, global REAL *out, const ulong n) {
    EACH(REAL_AT4(out) = fma((REAL4)(a), REAL_READ4(x), b * REAL_READ4(y)), out[i] = fma(a, x[i], b * y[i]))
}

// out = a x + b.
KERNEL arithmetic_shift(const REAL a, global const REAL *x, const REAL b, global REAL *out, const ulong n) {
    EACH(REAL_AT4(out) = fma((REAL4)(a), REAL_READ4(x), (REAL4)(b)), out[i] = fma(a, x[i], b))
}

KERNEL arithmetic_product(global const REAL *x, global const REAL *y, global REAL *out, const ulong n) {
    EACH(REAL_AT4(out) = REAL_READ4(x) * REAL_READ4(y), out[i] = x[i] * y[i])
}

KERNEL arithmetic_fill(global float *x, const float value, const ulong n) { EACH(AT4(x) = value, x[i] = value) }

KERNEL arithmetic_axpy(const float a, global const float *x, global const float *y, global float *out, const ulong n) {
    EACH(AT4(out) = fma((float4)(a), READ4(x), READ4(y)), out[i] = fma(a, x[i], y[i]))
}

KERNEL arithmetic_multiply(global float *x, global const float *by, const ulong n) { EACH(AT4(x) *= READ4(by), x[i] *= by[i]) }

inline float inverse_above(const float x, const float least) { return x > least ? 1 / x : 0; }

// `largest` holds the largest element, `fraction` of which counts as nothing.
KERNEL arithmetic_reciprocal(global float *x, global const float *largest, const float fraction, const ulong n) {
    const float least = fraction * largest[0];
    EACH(AT4(x) = select((float4)(0), 1 / READ4(x), READ4(x) > least), x[i] = inverse_above(x[i], least))
}

// x + change, and 0 where no more than `rounding` of x is left.
inline float4 left4(const float4 x, const float4 weights, const float4 g, const float rounding) {
    const float4 sum = fma(weights, g, x);
    return select(sum, (float4)(0), fabs(sum) <= rounding * fabs(x));
}

inline float left(const float x, const float weights, const float g, const float rounding) {
    const float sum = fma(weights, g, x);
    return fabs(sum) <= rounding * fabs(x) ? 0 : sum;
}

KERNEL arithmetic_update(global const float *x, const float step, global const float *weights, global const float *g, const float low,
                         const float high, const float rounding, global const float *mask, const int masked, global float *out,
                         const ulong n) {
    if (masked) {
        EACH(AT4(out) = READ4(mask) * fmin(fmax(left4(READ4(x), step * READ4(weights), READ4(g), rounding), low), high),
             out[i] = mask[i] * fmin(fmax(left(x[i], step * weights[i], g[i], rounding), low), high))
    } else {
        EACH(AT4(out) = fmin(fmax(left4(READ4(x), step * READ4(weights), READ4(g), rounding), low), high),
             out[i] = fmin(fmax(left(x[i], step * weights[i], g[i], rounding), low), high))
    }
}

inline void leave(local Sum *shared, const Sum sum, global Sum *sums, const int which) {
    const int item = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[item] = sum;
    for (int across = GROUP / 2; across > 0; across /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < across) shared[item] = JOIN(shared[item], shared[item + across]);
    }
    if (item == 0) sums[2 * get_group_id(0) + which] = shared[0];
}

#ifdef FP64
#define ADD_RESIDUAL(r, w)                       \
    {                                            \
        const double square = (double)(r) * (r); \
        plain += square;                         \
        weighted = fma((double)(w), square, weighted); \
    }
#define ADD_PRODUCT(x, y) sum = fma((double)(x), (double)(y), sum)
#else
#define ADD_RESIDUAL(r, w)              \
    {                                   \
        const float square = (r) * (r); \
        ADD(plain, square);             \
        ADD(weighted, (w)*square);      \
    }
#define ADD_PRODUCT(x, y) ADD(sum, (x) * (y))
#endif

// ax = weights (b - ax), and the sums of r r and r weights r, r = b - ax.
KERNEL arithmetic_residual(global const float *b, global float *ax, global const float *weights, global Sum *sums, const ulong n) {
    local Sum shared[GROUP];
    Sum plain = SUM_OF(0), weighted = SUM_OF(0);
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
        const float r = b[i] - ax[i], w = weights[i];
        ADD_RESIDUAL(r, w)
        ax[i] = w * r;
    }
    leave(shared, plain, sums, 0);
    leave(shared, weighted, sums, 1);
}

KERNEL arithmetic_dot(global const REAL *x, global const REAL *y, global Sum *sums, const ulong n) {
    local Sum shared[GROUP];
    Sum sum = SUM_OF(0);
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) ADD_PRODUCT(x[i], y[i]);
    leave(shared, sum, sums, 0);
    leave(shared, SUM_OF(0), sums, 1);
}

// How many elements are NaN or infinite.
KERNEL arithmetic_not_finite(global const float *x, global Sum *sums, const ulong n) {
    local Sum shared[GROUP];
    Sum sum = SUM_OF(0);
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) ADD(sum, isfinite(x[i]) ? 0.0f : 1.0f);
    leave(shared, sum, sums, 0);
    leave(shared, SUM_OF(0), sums, 1);
}

// The largest element of each group's part; of one group, of all.
KERNEL arithmetic_largest(global const float *x, global float *largest, const ulong n) {
    local float shared[GROUP];
    const int item = get_local_id(0);
    float most = -INFINITY;
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) most = fmax(most, x[i]);
    shared[item] = most;
    for (int across = GROUP / 2; across > 0; across /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < across) shared[item] = fmax(shared[item], shared[item + across]);
    }
    if (item == 0) largest[get_group_id(0)] = shared[0];
}
