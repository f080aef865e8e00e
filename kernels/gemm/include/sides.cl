// Narrow results: the shorter side of M and N, and the longer one (FAR), whose operand streams past. A plan says which is which.
#ifndef GPUOPT_GEMM_SIDES
#define GPUOPT_GEMM_SIDES
#ifndef SWAP  // 1: M is the longer side
#define SWAP 0
#endif
#if SWAP
#define SHORT N
#define FAR M
#define SHORT_AT(i, k) B_AT(k, i)
#define FAR_AT(j, k) A_AT(j, k)
#define PUT(i, j, value) STORE(j, i, value)
#define BESIDE TRANSPOSE_A  // whether neighbours along the longer side, not along k, lie side by side
#define WIDE ALIGNED_A
#else
#define SHORT M
#define FAR N
#define SHORT_AT(i, k) A_AT(i, k)
#define FAR_AT(j, k) B_AT(k, j)
#define PUT(i, j, value) STORE(i, j, value)
#define BESIDE (!TRANSPOSE_B)
#define WIDE ALIGNED_B
#endif
#endif
