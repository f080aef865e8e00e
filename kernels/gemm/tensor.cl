// float32 products on tensor cores (PTX): each operand split once into PARTS short numbers, the PRODUCTS largest products of parts taken,
// the small ones first. The unit rounds toward zero as it adds, so that after each step of k (PROMOTE=1) its sums go to float32 registers
// by ordinary additions. Spends as many multiplications as PRODUCTS on a unit some 15 times as fast. Loses where K or the result is small.
#include "gemm/include/parts.cl"

#define ITEMS (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))
#define PLANES (2 * STEPS)  // a step of the unit takes 32 bytes of k
#define A_STAGE (PLANES * PARTS * TILE_M)
#define B_STAGE (PLANES * PARTS * TILE_N)
#define MOST_PRODUCTS 9

#if TYPE == 0
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#elif TYPE == 1
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#endif
#define FOUR_MATRICES(r, from)                                                                       \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"                  \
                 : "=r"((r).x), "=r"((r).y), "=r"((r).z), "=r"((r).w)                                \
                 : "r"(from))
#define ADD_PRODUCT(c, a, b0, b1)                                                                    \
    asm(MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                       \
        : "+f"((c).x), "+f"((c).y), "+f"((c).z), "+f"((c).w)                                         \
        : "r"((a).x), "r"((a).y), "r"((a).z), "r"((a).w), "r"(b0), "r"(b1))
#define COPY_PIECE(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory")
#define COPIES_END asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_WAIT asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory")

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void gemm_tensor(GEMM_ARGUMENTS, global const int *restrict notes_a,
                                                                           const long largest_step_a, const long largest_from_a,
                                                                           global const int *restrict notes_b,
                                                                           const long largest_step_b, const long largest_from_b) {
    GEMM_BATCH
    local uint4 tiles_a[STAGES * A_STAGE] __attribute__((aligned(128)));
    local uint4 tiles_b[STAGES * B_STAGE] __attribute__((aligned(128)));
    const int item = get_local_id(0), warp = item / 32, lane = item % 32;
    const int across = (N + TILE_N - 1) / TILE_N, first = (int)get_group_id(0) / (BAND * across) * BAND;
    const int in_band = (int)get_group_id(0) % (BAND * across), height = min(BAND, (M + TILE_M - 1) / TILE_M - first);
    const int tile_m = first + in_band % height, tile_n = in_band / height;
    const int own_m = warp / (TILE_N / WARP_N) * WARP_M, own_n = warp % (TILE_N / WARP_N) * WARP_N;
    const int rounds = (K + PLANES * PER - 1) / (PLANES * PER);
    const global uint4 *next_a = (const global uint4 *)A + (size_t)tile_m * lda * (PARTS * TILE_M) + item;
    const global uint4 *next_b = (const global uint4 *)B + (size_t)tile_n * ldb * (PARTS * TILE_N) + item;
    const uint at_tiles_a = (uint)(size_t)tiles_a, at_tiles_b = (uint)(size_t)tiles_b;

    float4 sum[WARP_M / 16][WARP_N / 8];
#pragma unroll
    for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
        for (int j = 0; j < WARP_N / 8; ++j) sum[i][j] = 0;

#define START_COPIES(stage)                                                                                                     \
    _Pragma("unroll") for (int i = 0; i < A_STAGE / ITEMS; ++i)                                                                 \
        COPY_PIECE(at_tiles_a + 16 * ((stage) * A_STAGE + item + i * ITEMS), next_a + i * ITEMS);                               \
    _Pragma("unroll") for (int i = 0; i < B_STAGE / ITEMS; ++i)                                                                 \
        COPY_PIECE(at_tiles_b + 16 * ((stage) * B_STAGE + item + i * ITEMS), next_b + i * ITEMS);                               \
    next_a += A_STAGE;                                                                                                          \
    next_b += B_STAGE;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < rounds) {
            START_COPIES(s)
        }
        COPIES_END;
    }
    // Where the row lies that this lane names of four 8 x 8 matrices: for A rows 0-7 and 8-15 of two planes, for B two planes of both.
    const uint lane_a = 16 * (lane / 16 * PARTS * TILE_M + own_m + lane % 16);
    const uint lane_b = 16 * (lane / 8 % 2 * PARTS * TILE_N + own_n + lane / 16 * 8 + lane % 8);
    const int part_a[4][MOST_PRODUCTS] = {{0}, {1, 0, 0}, {2, 1, 0, 1, 0, 0}, {2, 2, 1, 2, 1, 0, 1, 0, 0}};
    const int part_b[4][MOST_PRODUCTS] = {{0}, {0, 1, 0}, {0, 1, 2, 0, 1, 0}, {2, 1, 2, 0, 1, 2, 0, 1, 0}};
    int reading = 0, writing = STAGES - 1;
    for (int round = 0; round < rounds; ++round) {
        COPIES_WAIT;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (round + STAGES - 1 < rounds) {
            START_COPIES(writing)
        }
        COPIES_END;
        writing = writing + 1 == STAGES ? 0 : writing + 1;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            const uint at_a = at_tiles_a + lane_a + 16 * (reading * A_STAGE + 2 * step * PARTS * TILE_M);
            const uint at_b = at_tiles_b + lane_b + 16 * (reading * B_STAGE + 2 * step * PARTS * TILE_N);
            uint4 a[PARTS][WARP_M / 16];
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
#pragma unroll
                for (int i = 0; i < WARP_M / 16; ++i) FOUR_MATRICES(a[part][i], at_a + 16 * (part * TILE_M + 16 * i));
#pragma unroll
            for (int j = 0; j < WARP_N / 8; j += 2) {
                uint4 b[PARTS];
#pragma unroll
                for (int part = 0; part < PARTS; ++part) FOUR_MATRICES(b[part], at_b + 16 * (part * TILE_N + 8 * j));
#pragma unroll
                for (int i = 0; i < WARP_M / 16; ++i) {
                    float4 left = PROMOTE ? 0 : sum[i][j], right = PROMOTE ? 0 : sum[i][j + 1];
#pragma unroll
                    for (int p = 0; p < PRODUCTS; ++p) {
                        const uint4 short_a = a[part_a[PRODUCTS / 3][p]][i], short_b = b[part_b[PRODUCTS / 3][p]];
                        ADD_PRODUCT(left, short_a, short_b.x, short_b.y);
                        ADD_PRODUCT(right, short_a, short_b.z, short_b.w);
                    }
                    sum[i][j] = PROMOTE ? sum[i][j] + left : left;
                    sum[i][j + 1] = PROMOTE ? sum[i][j + 1] + right : right;
                }
            }
        }
        reading = reading + 1 == STAGES ? 0 : reading + 1;
    }
#if TYPE == 0
    const global int *largest_a = notes_a + largest_from_a + (long)get_group_id(2) * largest_step_a;
    const global int *largest_b = notes_b + largest_from_b + (long)get_group_id(2) * largest_step_b;
#endif
#pragma unroll
    for (int i = 0; i < WARP_M / 8; ++i) {
        const int m = tile_m * TILE_M + own_m + i * 8 + lane / 4;
        if (m >= M) continue;
#pragma unroll
        for (int j = 0; j < WARP_N / 8; ++j) {
            const int n = tile_n * TILE_N + own_n + j * 8 + lane % 4 * 2;
            float2 two = i % 2 ? sum[i / 2][j].zw : sum[i / 2][j].xy;
#if TYPE == 0
            const int by = SCALED_BY(largest_a[m]);
            if (n < N) two.x = ldexp(two.x, by + SCALED_BY(largest_b[n]));
            if (n + 1 < N) two.y = ldexp(two.y, by + SCALED_BY(largest_b[n + 1]));
#endif
            if (WIDE_STORES && n + 2 <= N) {
                *(global float2 *)&D_AT(m, n) = alpha * two;
            } else {
                if (n < N) STORE(m, n, two.x);
                if (n + 1 < N) STORE(m, n + 1, two.y);
            }
        }
    }
}
