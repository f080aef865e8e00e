// What all microbenchmarks share. Elements are scalars, WIDTH of them in an OpenCL vector, or with STRUCT=1 in a struct. Halves are
// held as bits (REAL is ushort). `count` is in elements, `width` in scalars; `store` is known only when the kernel runs.
// Kernels after a paper's listing, which says nothing of overlapping arguments, set RESTRICT empty.
#include "common/real.cl"
#ifndef RESTRICT
#define RESTRICT restrict
#endif
#ifndef STRUCT
#define STRUCT 0
#endif

#define MICROBENCH_ARGUMENTS(FROM) FROM, global REAL *RESTRICT to, const long count, const long width, const int trips, const int store
#define FROM_GLOBAL global const REAL* RESTRICT from
#define FROM_CONSTANT constant REAL* RESTRICT from

#if STRUCT == 1 || WIDTH == 5 || WIDTH == 32  // no such vectors
typedef struct {
    REAL lane[WIDTH];
} ELEMENT;
#define LOAD_ELEMENT(p, i) (((global const ELEMENT*)(p))[i])
#define STORE_ELEMENT(v, p, i) (((global ELEMENT*)(p))[i] = (v))
#elif WIDTH == 3
#define ELEMENT REALV
#define LOAD_ELEMENT(p, i) vload3(i, p)
#define STORE_ELEMENT(v, p, i) vstore3(v, i, p)
#else
// Whole vectors: NVIDIA takes vloadn apart, since it promises no alignment.
#define ELEMENT REALV
#define LOAD_ELEMENT(p, i) (((global const ELEMENT*)(p))[i])
#define STORE_ELEMENT(v, p, i) (((global ELEMENT*)(p))[i] = (v))
#endif

// Whether a sum is one that ordinary reals never give; integers of n bits give it by chance, one in 2^n. It must be known, so
// that all is loaded.
#if defined(REAL_IS_DOUBLE)
#define UNLIKELY(sum) ((sum) == -1.2345e300)
#elif defined(REAL_IS_FLOAT)
#define UNLIKELY(sum) ((sum) == -1.2345e30f)
#else
#define UNLIKELY(sum) ((sum) == (REAL)0x5A5A5A5A5A5A5A5AL)
#endif
