// x = fma(x, y, z) in registers, 2 flops a step: the arithmetic ceiling where chains and lanes cover the latency and still fit in
// registers. Halves compute as halves, by mad: where fma of halves is emulated it takes ten times as long.
#include "microbench/include/chains.cl"
#ifdef REAL_IS_HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define VALUE half
#define SUM float
#define MULTIPLY_ADD mad
#else
#define VALUE REAL
#define SUM REAL
#define MULTIPLY_ADD fma
#endif
#if WIDTH == 1
#define VALUEV VALUE
#else
#define VALUEV PASTE(VALUE, WIDTH)
#endif
#define AS(type, v) PASTE(as_, type)(v)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_fma(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    VALUEV x[CHAINS];
    const VALUEV y = AS(VALUEV, START(CHAINS)), z = (VALUEV)(1) - AS(VALUEV, START(CHAINS + 1));
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) x[c] = AS(VALUEV, START(c));
    RUN_CHAINS(x[c] = MULTIPLY_ADD(x[c], y, z))
    SUM sum = 0;
#pragma unroll
    for (int c = 0; c < CHAINS; ++c) {
        union {
            VALUEV all;
            VALUE lane[WIDTH];
        } last;
        last.all = x[c];
#pragma unroll
        for (int i = 0; i < WIDTH; ++i) sum += last.lane[i];
    }
    to[get_global_id(0)] = AS(REAL, (VALUE)sum);
}
