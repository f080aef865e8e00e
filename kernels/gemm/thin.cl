// For results that are narrow one way: HOLD elements of the shorter side, times several of the longer one, are a work-item's sums, and the
// operand of the longer side streams past them once. What the shorter side needs of the other operand waits in local memory, DEPTH k at a
// time. Operands lie as they lie. Loses where both sides are long: the streamed operand is read once for each HOLD of the shorter side.
#include "gemm/include/gemm.cl"
#include "gemm/include/sides.cl"

#ifndef ACROSS  // a plan divides its work-items
#define ACROSS 64
#define LANES 32
#define DEPTH 128
#endif
#define EACH_HELD _Pragma("unroll") for (int i = 0; i < HOLD; ++i)

// HOLD lines of DEPTH k into local memory, with zeros beyond the operand.
#define FILL(k0)                                                                           \
    for (int e = item; e < HOLD * DEPTH; e += LOCAL) {                                     \
        const int i = i0 + e / DEPTH, k = (k0) + e % DEPTH;                                \
        held[e] = i < SHORT && k < K ? SHORT_AT(i, k) : 0;                                 \
    }
#define HELD4(i, k) (*(const local REAL4 *)(held + (i) * DEPTH + (k)))

#if BESIDE
// ACROSS work-items of a group have four columns each, the others share their k. Where columns are no whole aligned vectors, a work-item's
// lie ACROSS apart, so that neighbours still load side by side.
#define DOWN (LOCAL / ACROSS)
#define COLUMN(w) (WIDE ? lane * 4 + (w) : lane + (w) * ACROSS)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void gemm_thin(GEMM_ARGUMENTS) {
    GEMM_BATCH
    local REAL held[HOLD * DEPTH] __attribute__((aligned(4 * sizeof(REAL))));
    local REAL4 sums[LOCAL];
    const int item = get_local_id(0), lane = item % ACROSS, down = item / ACROSS;
    const int strips = (FAR + ACROSS * 4 - 1) / (ACROSS * 4);
    const int j0 = (int)get_group_id(0) % strips * (ACROSS * 4), i0 = (int)get_group_id(0) / strips * HOLD;
    const bool inside = j0 + ACROSS * 4 <= FAR;
    REAL4 sum[HOLD];
    EACH_HELD sum[i] = 0;
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        barrier(CLK_LOCAL_MEM_FENCE);
        FILL(k0)
        barrier(CLK_LOCAL_MEM_FENCE);
#define MULTIPLY(k)                                                                                                        \
    EACH_HELD {                                                                                                            \
        const REAL4 four = HELD4(i, k);                                                                                    \
        sum[i] = fma((REAL4)(four.x), row[0], sum[i]);                                                                     \
        sum[i] = fma((REAL4)(four.y), row[1], sum[i]);                                                                     \
        sum[i] = fma((REAL4)(four.z), row[2], sum[i]);                                                                     \
        sum[i] = fma((REAL4)(four.w), row[3], sum[i]);                                                                     \
    }
        if (inside && k0 + DEPTH <= K) {
#pragma unroll 2
            for (int k = down * 4; k < DEPTH; k += DOWN * 4) {
                REAL4 row[4];
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    const global REAL *from = &FAR_AT(j0 + COLUMN(0), k0 + k + q);
#if WIDE
                    row[q] = *(const global REAL4 *)from;
#else
                    row[q] = (REAL4)(from[0], from[ACROSS], from[2 * ACROSS], from[3 * ACROSS]);
#endif
                }
                MULTIPLY(k)
            }
        } else {
            for (int k = down * 4; k < DEPTH; k += DOWN * 4) {
                REAL4 row[4];
#pragma unroll
                for (int q = 0; q < 4; ++q) {
                    REAL of[4];
#pragma unroll
                    for (int w = 0; w < 4; ++w)
                        of[w] = k0 + k + q < K && j0 + COLUMN(w) < FAR ? FAR_AT(j0 + COLUMN(w), k0 + k + q) : 0;
                    row[q] = (REAL4)(of[0], of[1], of[2], of[3]);
                }
                MULTIPLY(k)
            }
        }
    }
    EACH_HELD {
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] = sum[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (down == 0 && i0 + i < SHORT) {
            REAL4 all = sum[i];
            for (int d = 1; d < DOWN; ++d) all += sums[d * ACROSS + lane];
            const REAL of[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
            for (int w = 0; w < 4; ++w)
                if (j0 + COLUMN(w) < FAR) PUT(i0 + i, j0 + COLUMN(w), of[w]);
        }
    }
}
#else
// LANES work-items along k share EACH lines of the longer side; their sums are added at the end, AT_ONCE at a time.
#define LINES (LOCAL / LANES)
#define AT_ONCE (EACH * HOLD < 4 ? EACH * HOLD : 4)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void gemm_thin(GEMM_ARGUMENTS) {
    GEMM_BATCH
    local REAL held[HOLD * DEPTH] __attribute__((aligned(4 * sizeof(REAL))));
    local REAL parts[AT_ONCE * LINES * (LANES + 1)];
    const int item = get_local_id(0), lane = item % LANES, line = item / LANES;
    const int strips = (FAR + LINES * EACH - 1) / (LINES * EACH);
    const int j0 = (int)get_group_id(0) % strips * (LINES * EACH), i0 = (int)get_group_id(0) / strips * HOLD;
    const bool inside = j0 + LINES * EACH <= FAR;
    REAL sum[EACH][HOLD];
#pragma unroll
    for (int r = 0; r < EACH; ++r) EACH_HELD sum[r][i] = 0;
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        barrier(CLK_LOCAL_MEM_FENCE);
        FILL(k0)
        barrier(CLK_LOCAL_MEM_FENCE);
#define MULTIPLY(k)                                                                                                        \
    EACH_HELD {                                                                                                            \
        const REAL4 four = HELD4(i, k);                                                                                    \
        _Pragma("unroll") for (int r = 0; r < EACH; ++r) {                                                                 \
            sum[r][i] = fma(four.x, row[r].x, sum[r][i]);                                                                  \
            sum[r][i] = fma(four.y, row[r].y, sum[r][i]);                                                                  \
            sum[r][i] = fma(four.z, row[r].z, sum[r][i]);                                                                  \
            sum[r][i] = fma(four.w, row[r].w, sum[r][i]);                                                                  \
        }                                                                                                                  \
    }
        if (inside && k0 + DEPTH <= K) {
#pragma unroll 2
            for (int k = lane * 4; k < DEPTH; k += LANES * 4) {
                REAL4 row[EACH];
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    const global REAL *from = &FAR_AT(j0 + line + r * LINES, k0 + k);
#if WIDE
                    row[r] = *(const global REAL4 *)from;
#else
                    row[r] = (REAL4)(from[0], from[1], from[2], from[3]);
#endif
                }
                MULTIPLY(k)
            }
        } else {
            for (int k = lane * 4; k < DEPTH; k += LANES * 4) {
                REAL4 row[EACH];
#pragma unroll
                for (int r = 0; r < EACH; ++r) {
                    const int j = j0 + line + r * LINES, left = j < FAR ? K - k0 - k : 0;
                    const global REAL *from = left > 0 ? &FAR_AT(j, k0 + k) : (SWAP ? A : B);
                    row[r] = (REAL4)(left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0,
                                     left > 3 ? from[3] : 0);
                }
                MULTIPLY(k)
            }
        }
    }
#pragma unroll
    for (int first = 0; first < EACH * HOLD; first += AT_ONCE) {
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int s = 0; s < AT_ONCE; ++s)
            parts[(s * LINES + line) * (LANES + 1) + lane] = sum[(first + s) / HOLD][(first + s) % HOLD];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = item; p < AT_ONCE * LINES; p += LOCAL) {
            const int s = first + p % AT_ONCE, of_line = p / AT_ONCE;
            const int i = i0 + s % HOLD, j = j0 + of_line + s / HOLD * LINES;
            REAL all = 0;
            for (int l = 0; l < LANES; ++l) all += parts[(p % AT_ONCE * LINES + of_line) * (LANES + 1) + l];
            if (i < SHORT && j < FAR) PUT(i, j, all);
        }
    }
}
#endif
