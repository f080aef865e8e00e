// y = A^T v: A has `rows` rows of `cols` elements that begin `stride` elements apart. ALIGNED: each row, and y, is whole WIDTH-wide
// vectors that begin where such vectors may. Work-groups that share rows leave `part_rows` of them each, and their sums side by side.
#include "common/real.cl"
#ifndef ALIGNED
#define ALIGNED 1
#endif

// Kernels as the paper lists them promise nothing of overlapping arguments: they set RESTRICT empty.
#ifndef RESTRICT
#define RESTRICT restrict
#endif

#define TMV_ARGUMENTS                                                                                                          \
    global const REAL *RESTRICT A, global const REAL *RESTRICT v, global REAL *RESTRICT y, const int rows, const int cols, \
        const long stride, const int part_rows

// A kernel's own: A begins `begin` elements into its buffer, since a caller's memory need not begin where a
// buffer may.
#define TMV_KERNEL_ARGUMENTS TMV_ARGUMENTS, const long begin
#define TMV_BEGIN A += begin

// ONES: a second pass that adds the sums of parts, for which v is 1.
#if defined(ONES)
#define V_AT(row) ((REAL)1)
#else
#define V_AT(row) v[row]
#endif
