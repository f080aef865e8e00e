// Tensor cores on pairs of bf16, sums in fp32: 2 x 16 x 8 x 16 flops an instruction.
#define MMA "m16n8k16.row.col.f32.bf16.bf16.f32"
#define ONES 0x3F803F80u
#define SIGNS 0x80008000u
#include "microbench/include/mma.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_mma_bf16(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    to[get_global_id(0)] = sum_of_tiles(from, count, trips);
}
