// OUTPUTS rows of four elements each a work-item: four steps of the sum are OUTPUTS float4 of A and four of B, whose values all rows
// share: 0.375 loads of 4 bytes for each multiply-add at 8 rows instead of two. Jang 2009, the last row.
#define ROWS OUTPUTS
#include "gemm/include/four_columns.cl"

kernel __attribute__((reqd_work_group_size(LOCAL_X, LOCAL_Y, 1))) void gemm_multiple_output(GEMM_ARGUMENTS STREAMS) { FOUR_COLUMNS }
