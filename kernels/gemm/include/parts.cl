// float32 numbers as sums of PARTS short ones, each what the ones before leave: TYPE 0 fp16 (of rows scaled by powers of two, so that
// both parts stay in its range), 1 bf16, 2 tf32. Operands lie as the tensor cores' loads want them: [tile][plane][part][row], a piece of
// 16 bytes for PER neighbouring k (a plane) of each row.
#ifndef GPUOPT_COMMON_GEMM_PARTS
#define GPUOPT_COMMON_GEMM_PARTS
#include "gemm/include/gemm.cl"

#ifndef TYPE
#define TYPE 0
#define PRODUCTS 3
#endif
#define PARTS (PRODUCTS == 1 ? 1 : PRODUCTS == 3 ? 2 : 3)
#define PER (TYPE == 2 ? 4 : 8)

// Of a row whose largest magnitude has these bits: what its scaled elements are to be multiplied by is 2 to this power. The largest
// lies in [2^14, 2^15).
#define SCALED_BY(largest) (((largest) >> 23) - 141)
#endif
