// How tiles of TILE_K x WIDE elements of an operand get to local memory, [k][x], by ITEMS work-items: copies that nobody waits for (COPY=1,
// PTX's cp.async), or loads to registers that are stored a tile later. Elements beyond the edges become 0; with COPY=2, as 1, those beyond
// the edges of the result are others of the operand: what they add up to is not stored, and tiles at edges need no branch. Operands
// of COPY=2 have whole pieces in each row.
#ifndef GPUOPT_COMMON_GEMM_COPY
#define GPUOPT_COMMON_GEMM_COPY

#define READ4(p) (*(const local REAL4 *)(p))
#define OF_FOUR(v, i) ((i) == 0 ? (v).x : (i) == 1 ? (v).y : (i) == 2 ? (v).z : (v).w)

// Four neighbours of a row of the result.
#define STORE4(m, n, value)                                                                                                     \
    do {                                                                                                                        \
        const REAL4 four = value;                                                                                               \
        if (WIDE_STORES && (n) + 4 <= N) {                                                                         \
            *(global REAL4 *)&D_AT(m, n) = alpha * four;                                                                        \
        } else {                                                                                                                \
            if ((n) < N) STORE(m, n, four.x);                                                                                   \
            if ((n) + 1 < N) STORE(m, (n) + 1, four.y);                                                                         \
            if ((n) + 2 < N) STORE(m, (n) + 2, four.z);                                                                         \
            if ((n) + 3 < N) STORE(m, (n) + 3, four.w);                                                                         \
        }                                                                                                                       \
    } while (0)

// A reader X of an operand's tiles, from x0 on; ALONG_K: k lies side by side in it. A work-item copies X_each pieces of X_wide
// elements; its first begins at X_next, the others X_step further on where all of a row of pieces are its group's.
#define TILE_READER(X, P, WIDE, PITCH, x0, BOUND, ld, ALONG_K, ALIGNED)                                                         \
    enum {                                                                                                                      \
        X##_along_k = ALONG_K,                                                                                                  \
        X##_wide = (ALIGNED) && !(COPY >= 1 && (ALONG_K)) ? 4 : 1,                                                                         \
        X##_row = (X##_along_k ? TILE_K : WIDE) / X##_wide,                                                                         \
        X##_each = WIDE * TILE_K / X##_wide / ITEMS,                                                                            \
        X##_even = ITEMS % X##_row == 0,                                                                                        \
        X##_pitch = PITCH                                                                                                       \
    };                                                                                                                          \
    const int X##_x0 = x0, X##_bound = BOUND;                                                                                   \
    const long X##_ld = ld;                                                                                                     \
    const bool X##_within = COPY == 2 || X##_x0 + WIDE <= X##_bound;                                                                         \
    const int X##_first = item % X##_row * X##_wide, X##_line = item / X##_row;                                                 \
    const int X##_last = COPY == 2 ? (X##_bound - 1) / 4 * 4 : X##_x0 + X##_first; /* where the last piece of a row begins */      \
    const global REAL *X##_next = P + (X##_along_k ? (X##_x0 + X##_line) * X##_ld + X##_first                                   \
                                                   : X##_line * X##_ld + min(X##_x0 + X##_first, X##_last));                    \
    const long X##_step = ITEMS / X##_row * X##_ld;                                                                             \
    TILE_REGISTERS(X)

#define TILE_WHOLE(X, k0) (X##_even && X##_within && (k0) + TILE_K <= K)
#define TILE_NEXT(X) X##_next += X##_along_k ? (long)TILE_K : TILE_K * X##_ld;
// Where piece i of this work-item lies in a tile, and how many of its elements are inside the operand.
#define PIECE_AT(X, i) ((item + (i) * ITEMS) % X##_row * X##_wide)
#define PIECE_LINE(X, i) ((item + (i) * ITEMS) / X##_row)
#define PIECE_K(X, i) (X##_along_k ? PIECE_AT(X, i) : PIECE_LINE(X, i))
#define PIECE_X(X, i) (X##_along_k ? PIECE_LINE(X, i) : PIECE_AT(X, i))
#define PIECE_LEFT(X, i, k0)                                                                                                    \
    (X##_along_k ? (X##_x0 + PIECE_X(X, i) < X##_bound ? clamp(K - (k0)-PIECE_K(X, i), 0, (int)X##_wide) : 0)                   \
                 : ((k0) + PIECE_K(X, i) < K ? clamp(X##_bound - X##_x0 - PIECE_X(X, i), 0, (int)X##_wide) : 0))
#define PIECE_FROM(X, P, i, k0)                                                                                                 \
    (P + (X##_along_k ? (X##_x0 + PIECE_X(X, i)) * X##_ld + (k0) + PIECE_K(X, i)                                                \
                      : ((k0) + PIECE_K(X, i)) * X##_ld + X##_x0 + PIECE_X(X, i)))
#define PIECE_TO(X, to, i) ((to) + PIECE_K(X, i) * X##_pitch + PIECE_X(X, i))

#if COPY >= 1
#define TILE_REGISTERS(X)
#define COPIES_END asm volatile("cp.async.commit_group;" ::: "memory");
#define COPIES_WAIT asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");

// The first `bytes` of a piece; zeros after them.
inline void copy_piece(local REAL *to, const global REAL *from, const int wide, const int bytes) {
    const uint at = (uint)(size_t)to;
    if (wide == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}
inline void copy_whole_piece(local REAL *to, const global REAL *from, const int wide) {
    const uint at = (uint)(size_t)to;
    if (wide == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from) : "memory");
}

// NVIDIA's compiler moves reads of local memory down to where they are used, and then waits for them.
#define READS_STAY asm volatile("" ::: "memory");
// The step from piece to piece is hidden from the compiler, which would keep a 64-bit pointer for each: registers that the sums need.
#define HIDDEN_STEP(X)                                                                                                          \
    long X##_by = X##_step;                                                                                                     \
    asm volatile("" : "+l"(X##_by));
// Piece i of the next tile, all of which is there; pieces in turn. Two together: the compiler puts three instructions before each group.
#define PIECE_START(X, i, to)                                                                                                   \
    {                                                                                                                           \
        const int across = (i) * (ITEMS / X##_row);                                                                             \
        copy_whole_piece((to) + (X##_along_k ? X##_first * X##_pitch + X##_line + across                                        \
                                             : (X##_line + across) * X##_pitch + X##_first),                                    \
                         X##_next, X##_wide);                                                                                   \
        X##_next += X##_along_k && (i) == X##_each - 1 ? TILE_K - (X##_each - 1) * X##_by : X##_by;                             \
    }
#define PIECES_A_K max(2, (a_each + b_each + TILE_K - 2) / (TILE_K - 1))

#define TILE_START(X, P, k0, to)                                                                                                \
    if (TILE_WHOLE(X, k0)) {                                                                                                    \
        HIDDEN_STEP(X)                                                                                                          \
        _Pragma("unroll") for (int i = 0; i < X##_each; ++i) PIECE_START(X, i, to)                                              \
    } else {                                                                                                                    \
        _Pragma("unroll 1") for (int i = 0; i < X##_each; ++i) {                                                                \
            const int left = PIECE_LEFT(X, i, k0);                                                                              \
            copy_piece(PIECE_TO(X, to, i), left > 0 ? PIECE_FROM(X, P, i, k0) : P, X##_wide, 4 * left);                         \
        }                                                                                                                       \
        TILE_NEXT(X)                                                                                                            \
    }
#define TILE_FETCH(X, P, k0) TILE_START(X, P, k0, tiles_##X + (k0) * X##_pitch)  // before the loop, tile after tile
#define TILE_PUT(X, to)
#else
#define TILE_REGISTERS(X) REAL4 X##_held[X##_each];
#define COPIES_END
#define COPIES_WAIT

inline REAL4 read_piece(const global REAL *from, const int wide, const int left) {
    REAL4 piece = 0;
    if (wide == 4 && left == 4) return *(const global REAL4 *)from;
    if (left > 0) piece.x = from[0];
    if (left > 1) piece.y = from[1];
    if (left > 2) piece.z = from[2];
    if (left > 3) piece.w = from[3];
    return piece;
}

#define TILE_FETCH(X, P, k0)                                                                                                    \
    if (TILE_WHOLE(X, k0)) {                                                                                                    \
        _Pragma("unroll") for (int i = 0; i < X##_each; ++i) X##_held[i] =                                                      \
            read_piece(X##_next + i * X##_step, X##_wide, X##_wide);                                                            \
    } else {                                                                                                                    \
        _Pragma("unroll") for (int i = 0; i < X##_each; ++i) {                                                                  \
            const int left = PIECE_LEFT(X, i, k0);                                                                              \
            X##_held[i] = read_piece(left > 0 ? PIECE_FROM(X, P, i, k0) : P, X##_wide, left);                                   \
        }                                                                                                                       \
    }                                                                                                                           \
    TILE_NEXT(X)
#define TILE_START(X, P, k0, to) TILE_FETCH(X, P, k0)
#define TILE_PUT(X, to)                                                                                                         \
    _Pragma("unroll") for (int i = 0; i < X##_each; ++i) {                                                                      \
        local REAL *const place = PIECE_TO(X, to, i);                                                                           \
        if (X##_wide == 4 && !X##_along_k) {                                                                                    \
            *(local REAL4 *)place = X##_held[i];                                                                                \
        } else {                                                                                                                \
            place[0] = X##_held[i].x;                                                                                           \
            if (X##_wide == 4) {                                                                                                \
                place[X##_pitch] = X##_held[i].y;                                                                               \
                place[2 * X##_pitch] = X##_held[i].z;                                                                           \
                place[3 * X##_pitch] = X##_held[i].w;                                                                           \
            }                                                                                                                   \
        }                                                                                                                       \
    }
#endif
#endif
