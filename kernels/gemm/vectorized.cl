// Four neighbouring elements of the result a work-item: four steps of the sum are one float4 of A and four of B, a quarter of the loads
// of A and all of them four wide. Jang 2009, the row that brought nearly everything.
#define ROWS 1
#include "gemm/include/four_columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_vectorized(GEMM_ARGUMENTS STREAMS) { FOUR_COLUMNS }
