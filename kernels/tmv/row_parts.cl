// ACROSS work-items of a work-group hold WIDTH columns each, the others share their rows, and work-groups split the rows into parts: the
// whole device streams A however tall or wide it is. Each work-item has UNROLL rows under way, which is what hides the latency.
// Sums of parts are added by a second pass, this kernel over them; where columns alone fill the device there is one part.
#include "tmv/include/tmv.cl"
#if !defined(ACROSS) || ACROSS == 0  // a plan gives the number that the shape of A asks for
#undef ACROSS
#define ACROSS 16
#endif
#define DOWN (LOCAL / ACROSS)

// Where rows are no whole aligned vectors, a work-item's columns lie ACROSS apart, so that neighbours still load side by side.
#if ALIGNED
#define FIRST_COLUMN(lane) ((lane) * WIDTH)
#else
#define FIRST_COLUMN(lane) (lane)
#endif

inline REALV load_columns(global const REAL *entry, const int left) {
#if ALIGNED || WIDTH == 1
    return *(global const REALV *)entry;
#else
    REAL lanes[WIDTH];
#pragma unroll
    for (int w = 0; w < WIDTH; ++w) lanes[w] = w * ACROSS < left ? entry[w * ACROSS] : 0;
    return VLOAD(lanes);
#endif
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void tmv_row_parts(TMV_KERNEL_ARGUMENTS) {
    TMV_BEGIN;
    const int item = get_local_id(0), lane = item % ACROSS, down = item / ACROSS;
    const int col = (int)get_group_id(0) * (ACROSS * WIDTH) + FIRST_COLUMN(lane), left = cols - col;
    const int first = (int)get_group_id(1) * part_rows, last = min(first + part_rows, rows);
    REALV sum = (REALV)(0);
    if (left > 0) {
        int row = first + down;
        global const REAL *entry = A + (size_t)row * stride + col;
        for (; row + (UNROLL - 1) * DOWN < last; row += UNROLL * DOWN, entry += UNROLL * DOWN * stride) {
            REALV loaded[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) loaded[u] = load_columns(entry + u * DOWN * stride, left);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) sum = fma(loaded[u], (REALV)(V_AT(row + u * DOWN)), sum);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            if (row + u * DOWN < last)
                sum = fma(load_columns(entry + u * DOWN * stride, left), (REALV)(V_AT(row + u * DOWN)), sum);
    }
#if DOWN > 1
    local REALV sums[LOCAL];
    sums[item] = sum;
    for (int half_way = DOWN / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (down < half_way) sums[item] = sum += sums[item + half_way * ACROSS];
    }
#endif
    if (down > 0 || left <= 0) return;
    global REAL *to = y + (size_t)get_group_id(1) * cols + col;
#if ALIGNED || WIDTH == 1
    *(global REALV *)to = sum;
#else
    REAL lanes[WIDTH];
    VSTORE(sum, lanes);
#pragma unroll
    for (int w = 0; w < WIDTH; ++w)
        if (w * ACROSS < left) to[w * ACROSS] = lanes[w];
#endif
}
