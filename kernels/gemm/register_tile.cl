// A work-item keeps WORK_M x WORK_N sums; tiles of A and B pass through local memory, the next ones on their way while one is used.
// Spends registers: few work-items are in flight. Loses where the result has fewer tiles than the device has compute units.
#include "common/gemm.cl"
#include "common/gemm_copy.cl"

#define LANES_M 4  // 32 neighbouring work-items own 4 x 8 blocks
#define LANES_N 8
#define ITEMS ((TILE_M / WORK_M) * (TILE_N / WORK_N))
#define BLOCKS_N ((TILE_N + LANES_N * WORK_N - 1) / (LANES_N * WORK_N))
// Along the rows of a tile in local memory lie m or n; where k is what lies side by side in the operand, a pad spreads the banks.
#define A_PITCH (TILE_M + (TRANSPOSE_A ? 0 : 4))
#define B_PITCH (TILE_N + (TRANSPOSE_B ? 4 : 0))

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void gemm_register_tile(GEMM_ARGUMENTS) {
    GEMM_BATCH
    local REAL tiles_a[STAGES * TILE_K * A_PITCH] __attribute__((aligned(4 * sizeof(REAL))));
    local REAL tiles_b[STAGES * TILE_K * B_PITCH] __attribute__((aligned(4 * sizeof(REAL))));
    const int item = get_local_id(0), block = item / 32, lane = item % 32;
    // Groups in bands of BAND rows of tiles share what they read in the cache behind them.
    const int across = (N + TILE_N - 1) / TILE_N, first = (int)get_group_id(0) / (BAND * across) * BAND;
    const int in_band = (int)get_group_id(0) % (BAND * across), height = min(BAND, (M + TILE_M - 1) / TILE_M - first);
    const int m0 = (first + in_band % height) * TILE_M, n0 = in_band / height * TILE_N;
    // A quarter of 32 lanes covers 2 x 4 blocks of 4 x 4 elements.
    const int own_m = block / BLOCKS_N * (LANES_M * WORK_M) + (lane % 2 + lane / 16 * 2) * 4;
    const int own_n = block % BLOCKS_N * (LANES_N * WORK_N) + lane / 2 % 8 * 4;

    REAL sum[WORK_M][WORK_N];
#pragma unroll
    for (int i = 0; i < WORK_M; ++i)
#pragma unroll
        for (int j = 0; j < WORK_N; ++j) sum[i][j] = 0;

    TILE_READER(a, A, TILE_M, A_PITCH, m0, M, lda, !TRANSPOSE_A, ALIGNED_A)
    TILE_READER(b, B, TILE_N, B_PITCH, n0, N, ldb, TRANSPOSE_B, ALIGNED_B)
    const int steps = (K + TILE_K - 1) / TILE_K;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < steps) {
            TILE_FETCH(a, A, s * TILE_K)
            TILE_FETCH(b, B, s * TILE_K)
            TILE_PUT(a, tiles_a + s * TILE_K * A_PITCH)
            TILE_PUT(b, tiles_b + s * TILE_K * B_PITCH)
        }
        COPIES_END
    }
    COPIES_WAIT
    barrier(CLK_LOCAL_MEM_FENCE);

    REAL4 a[2][WORK_M / 4], b[2][WORK_N / 4];
    const local REAL *near_a = tiles_a + own_m, *near_b = tiles_b + own_n;
    // A compute unit reads two registers a clock for each work-item, one from each of two banks, and keeps an operand that the next
    // multiply-add names too. ORDER decides how often three are read: in 19, 14 and 11 % of them with 8 x 8 sums (H200, 2026-11; the
    // order of loads is part of it, since it decides what the compiler moves).
#define READ_A(at, k, i) a[at][i] = READ4(near_a + (k) * A_PITCH + (i) * LANES_M * 4)
#define READ_B(at, k, j) b[at][j] = READ4(near_b + (k) * B_PITCH + (j) * LANES_N * 4)
#if ORDER == 1
#define FRAGMENTS(at, k)                                                               \
    _Pragma("unroll") for (int j = WORK_N / 4 - 1; j >= 0; --j) READ_B(at, k, j);      \
    _Pragma("unroll") for (int i = WORK_M / 4 - 1; i >= 0; --i) READ_A(at, k, i);
#else
#define FRAGMENTS(at, k)                                                               \
    _Pragma("unroll") for (int j = 0; j < WORK_N / 4; ++j) READ_B(at, k, j);           \
    _Pragma("unroll") for (int i = 0; i < WORK_M / 4; ++i) READ_A(at, k, i);
#endif
    FRAGMENTS(0, 0)
    int reading = 0, writing = STAGES - 1;
    for (int step = 0; step < steps; ++step) {
        const int ahead = (step + STAGES - 1) * TILE_K;
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            if (k == TILE_K - 1) {
                if (ahead < K) {
                    TILE_PUT(a, tiles_a + writing * TILE_K * A_PITCH)
                    TILE_PUT(b, tiles_b + writing * TILE_K * B_PITCH)
                }
                writing = writing + 1 == STAGES ? 0 : writing + 1;
                COPIES_WAIT
                barrier(CLK_LOCAL_MEM_FENCE);
                reading = reading + 1 == STAGES ? 0 : reading + 1;
                near_a = tiles_a + own_m + reading * TILE_K * A_PITCH;
                near_b = tiles_b + own_n + reading * TILE_K * B_PITCH;
            }
            FRAGMENTS((k + 1) & 1, (k + 1) % TILE_K)
            if (k == 0) {
                if (ahead < K) {
                    TILE_START(a, A, ahead, tiles_a + writing * TILE_K * A_PITCH)
                    TILE_START(b, B, ahead, tiles_b + writing * TILE_K * B_PITCH)
                }
                COPIES_END
            }
#define MULTIPLY_ADD(i, j)                                                                            \
    do {                                                                                              \
        const REAL4 quad_a = a[k & 1][(i) / 4], quad_b = b[k & 1][(j) / 4];                           \
        sum[i][j] = fma(OF_FOUR(quad_a, (i) % 4), OF_FOUR(quad_b, (j) % 4), sum[i][j]);               \
    } while (0)
#if ORDER == 2  // down and up columns of four rows, to the right and back
#pragma unroll
            for (int rows = 0; rows < WORK_M; rows += 4)
#pragma unroll
                for (int right = 0; right < WORK_N; ++right)
#pragma unroll
                    for (int down = 0; down < 4; ++down)
                        MULTIPLY_ADD(rows + (right % 2 ? 3 - down : down), rows % 8 ? WORK_N - 1 - right : right);
#else
#pragma unroll
            for (int i = 0; i < WORK_M; ++i)
#pragma unroll
                for (int right = 0; right < WORK_N; ++right) MULTIPLY_ADD(i, ORDER == 1 && i % 2 ? WORK_N - 1 - right : right);
#endif
        }
    }
#pragma unroll
    for (int i = 0; i < WORK_M; ++i) {
        const int m = m0 + own_m + i / 4 * LANES_M * 4 + i % 4;
        if (m >= M) continue;
#pragma unroll
        for (int j = 0; j < WORK_N; j += 4) {
            const int n = n0 + own_n + j * LANES_N;
            STORE4(m, n, (REAL4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
        }
    }
}
