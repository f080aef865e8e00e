// The paper's kernels: a work-group is LOCAL_X work-items across, each with WIDTH neighbouring columns, and LOCAL_Y down, which share
// the rows of a column. v is staged in local memory, an element a work-item at a time.
#include "tmv/include/tmv.cl"

#if WIDTH == 1
#define LOAD_COLUMNS(p, left) (*(p))
#elif ALIGNED
#define LOAD_COLUMNS(p, left) (*(global const REAL2 *)(p))
#else
#define LOAD_COLUMNS(p, left) ((left) > 1 ? vload2(0, p) : (REAL2)(*(p), 0))
#endif

inline REALV column_sums(TMV_ARGUMENTS, const int col, local REAL *staged) {
    const int x = get_local_id(0), mine = (int)get_local_id(1) * LOCAL_X;
    REALV sum = (REALV)(0);
    for (int first = 0; first < rows; first += LOCAL_X * LOCAL_Y) {
        if (first + mine + x < rows) staged[mine + x] = v[first + mine + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        const int count = col < cols ? min(LOCAL_X, rows - first - mine) : 0;
        global const REAL *entry = A + (size_t)(first + mine) * stride + col;
        for (int i = 0; i < count; ++i, entry += stride)
            sum = fma(LOAD_COLUMNS(entry, cols - col), (REALV)(staged[mine + i]), sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sum;
}

inline void store_columns(global REAL *y, const int cols, const int col, const REALV sum) {
#if WIDTH == 1
    if (col < cols) y[col] = sum;
#else
    if (col < cols) y[col] = sum.x;
    if (col + 1 < cols) y[col + 1] = sum.y;
#endif
}
