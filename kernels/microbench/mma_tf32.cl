// Tensor cores on tf32, sums in fp32: 2 x 16 x 8 x 8 flops an instruction.
#define MMA "m16n8k8.row.col.f32.tf32.tf32.f32"
#define ONES 0x3F800000u
#define SIGNS 0x80000000u
#include "microbench/include/mma.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_mma_tf32(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    to[get_global_id(0)] = sum_of_tiles(from, count, trips);
}
