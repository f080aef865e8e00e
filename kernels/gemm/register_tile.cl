// A work-item keeps WORK_M x WORK_N sums; tiles of A and B pass through local memory, the next ones on their way while one is used.
// Spends registers: few work-items are in flight. Loses where the result has fewer tiles than the device has compute units.
#include "gemm/include/gemm.cl"
#include "gemm/include/copy.cl"

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
#define FRAGMENTS(at, k)                                                                                              \
    _Pragma("unroll") for (int i = 0; i < WORK_M / 4; ++i) a[at][i] = READ4(near_a + (k) * A_PITCH + i * LANES_M * 4); \
    _Pragma("unroll") for (int j = 0; j < WORK_N / 4; ++j) b[at][j] = READ4(near_b + (k) * B_PITCH + j * LANES_N * 4);
#define MULTIPLY_ADD(at, i, j)                                                                                        \
    do {                                                                                                              \
        const REAL4 quad_a = a[at][(i) / 4], quad_b = b[at][(j) / 4];                                                 \
        sum[i][j] = fma(OF_FOUR(quad_a, (i) % 4), OF_FOUR(quad_b, (j) % 4), sum[i][j]);                               \
    } while (0)
    // A compute unit reads two registers a clock for each work-item, one from each of two banks, and keeps an operand that the next
    // multiply-add names too. Along the longer side to and fro, from its end, one in 24 has to read more, and one in 9 by rows (counted in
    // the machine code for an H200, 128 x 256 tiles, 8 x 16 sums). The compiler must keep to the order: at its level 1 it does.
#define LONGER (WORK_M > WORK_N ? WORK_M : WORK_N)
#if ORDER == 1
#define FAR(line, far) ((line) % 2 ? (far) : LONGER - 1 - (far))
#else
#define FAR(line, far) (far)
#endif
#define MULTIPLY_ADDS(at)                                                                                             \
    _Pragma("unroll") for (int line = 0; line < WORK_M * WORK_N / LONGER; ++line)                                     \
        _Pragma("unroll") for (int far = 0; far < LONGER; ++far)                                                      \
            MULTIPLY_ADD(at, WORK_M > WORK_N ? FAR(line, far) : line, WORK_M > WORK_N ? line : FAR(line, far));
#define NEXT_TILE                                                                                                     \
    writing = writing + 1 == STAGES ? 0 : writing + 1;                                                                \
    COPIES_WAIT                                                                                                       \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                     \
    reading = reading + 1 == STAGES ? 0 : reading + 1;                                                                \
    near_a = tiles_a + own_m + reading * TILE_K * A_PITCH;                                                            \
    near_b = tiles_b + own_n + reading * TILE_K * B_PITCH;

    FRAGMENTS(0, 0)
    int reading = 0, writing = STAGES - 1, step = 0;
#if COPY >= 1
    // While a whole tile is to be copied: its pieces between the multiply-adds, without a branch. With all of them at the beginning of a
    // step, a kernel without copies was 10 % faster (H200, 2026-11); spread, they give back most of that.
    const int whole = (a_even & b_even) == 1 && a_within && b_within ? K / TILE_K - (STAGES - 1) : 0;
#pragma unroll 1
    for (; step < whole; ++step) {
        local REAL *to_a = tiles_a + writing * TILE_K * A_PITCH, *to_b = tiles_b + writing * TILE_K * B_PITCH;
        HIDDEN_STEP(a)
        HIDDEN_STEP(b)
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            if (k == TILE_K - 1) {
                COPIES_END
                NEXT_TILE
            }
            FRAGMENTS((k + 1) & 1, (k + 1) % TILE_K)
            READS_STAY
#pragma unroll
            for (int i = 0; i < PIECES_A_K; ++i) {
                const int piece = k * PIECES_A_K + i;
                if (piece < a_each) PIECE_START(a, piece, to_a)
                else if (piece < a_each + b_each) PIECE_START(b, piece - a_each, to_b)
            }
            MULTIPLY_ADDS(k & 1)
        }
    }
#define TRIP 4  // what is left is little: short code
#else
#define TRIP TILE_K
#endif
#pragma unroll 1
    for (; step < steps; ++step) {
        const int ahead = (step + STAGES - 1) * TILE_K;
        if (ahead < K) {
            TILE_START(a, A, ahead, tiles_a + writing * TILE_K * A_PITCH)
            TILE_START(b, B, ahead, tiles_b + writing * TILE_K * B_PITCH)
        }
        COPIES_END
#pragma unroll 1
        for (int trip = 0; trip < TILE_K; trip += TRIP) {
#pragma unroll
            for (int k = 0; k < TRIP; ++k) {
                if (k == TRIP - 1) {
                    near_a += TRIP * A_PITCH;
                    near_b += TRIP * B_PITCH;
                    if (trip == TILE_K - TRIP) {
                        if (ahead < K) {
                            TILE_PUT(a, tiles_a + writing * TILE_K * A_PITCH)
                            TILE_PUT(b, tiles_b + writing * TILE_K * B_PITCH)
                        }
                        NEXT_TILE
                    }
                }
                FRAGMENTS((k + 1) & 1, (k + 1) % TRIP)
                MULTIPLY_ADDS(k & 1)
            }
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
