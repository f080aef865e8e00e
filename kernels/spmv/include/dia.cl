// What all diagonal products share: one argument list, and the store y = alpha sum + beta addend.
// Offsets ascend; column c of x stands at x[x_origin + c]; INDEX is long only for matrices that need it. `grid` is the width
// of the grid whose points the rows are, `vectors` the columns of x.
#include "spmv/include/stored.cl"
#ifndef INDEX
#define INDEX int
#endif
// Listings that say nothing of overlapping arguments set RESTRICT empty.
#ifndef RESTRICT
#define RESTRICT restrict
#endif
#ifndef DIA_VECTOR
#define DIA_VECTOR global const REAL* RESTRICT x
#endif
#if defined(OFFSETS) && OFFSETS == 1
#define OFFSET_SPACE constant
#else
#define OFFSET_SPACE global
#endif

#define DIA_ARGUMENTS                                                                                                   \
    global const VALUE *RESTRICT val, const long pitch, const INDEX rows, const INDEX cols, const int diags,            \
        OFFSET_SPACE const INDEX *RESTRICT offsets, DIA_VECTOR, const INDEX x_origin, const INDEX grid, const int vectors, \
        global const REAL *addend, global REAL *y, const REAL alpha, const REAL beta

// Of tiles TILE_Y*ROWS lines high, how many are below each other before this one: a launch has at most so many groups in y, the rest in z.
#define TILE_DOWN ((INDEX)get_group_id(1) + (INDEX)get_num_groups(1) * (INDEX)get_group_id(2))

// beta = 0 must not read the addend: it may be absent, or NaN.
#define DIA_STORE(row, sum) y[row] = beta == 0 ? alpha * (sum) : fma(beta, addend[row], alpha * (sum))

// Entry k of a row stands k*STRIDE behind ENTRY(row): SLICE=0 is the pitched form, whose slice is the whole matrix.
#if !defined(SLICE) || SLICE == 0
#define STRIDE pitch
#define ENTRY(row) (val + (row))
#else
#define STRIDE SLICE
#define ENTRY(row) (val + (long)((row) / SLICE) * ((long)diags * SLICE) + (row) % SLICE)
#endif

// WIDTH sums of rows from an aligned one on, as one store.
#define DIA_STORE_ALIGNED(row, sum)                                             \
    if (beta == 0) {                                                            \
        *(global REALV*)(y + (row)) = alpha * VLOAD(sum);                       \
    } else {                                                                    \
        for (int r_ = 0; r_ < WIDTH; ++r_) DIA_STORE((row) + r_, (sum)[r_]); \
    }
