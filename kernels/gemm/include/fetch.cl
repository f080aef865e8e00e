// What Jang's steps fetch A and B from: buffers, or with TEXTURE=1 images that passes fill with op(A) and op(B), through the texture units
// as Brook+ streams were. Outside of an image there are zeros.
#ifndef GPUOPT_GEMM_FETCH
#define GPUOPT_GEMM_FETCH
#include "gemm/include/gemm.cl"

#ifndef TEXTURE
#define TEXTURE 0
#endif
#ifndef PAIRS
#define PAIRS 0
#endif

// Jang's Figure 5 (a): a column and a row for each matrix, and what a step adds to them; in whole numbers. Compilers for GPUs take such
// vectors apart; those for CPUs may not, and then work on one work-item at a time.
#define INDEX_PAIRS                                                                    \
    int2 index_a = (int2)(0, (int)m + FIRST_ROW), index_b = (int2)((int)n, 0);         \
    const int2 step_a = (int2)(1, 0), step_b = (int2)(0, 1);

#if TEXTURE
#define STREAMS , read_only image2d_t image_a, read_only image2d_t image_b, const int first_row
#define FIRST_ROW first_row  // of this launch's part of the result
constant sampler_t NEAREST = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
#define FETCH_A(column, row) read_imagef(image_a, NEAREST, (int2)(column, row)).x
#define FETCH_B(column, row) read_imagef(image_b, NEAREST, (int2)(column, row)).x
#else
#define STREAMS
#define FIRST_ROW 0
#define FETCH_A(column, row) A_AT(row, column)
#define FETCH_B(column, row) B_AT(row, column)
#endif
#endif
