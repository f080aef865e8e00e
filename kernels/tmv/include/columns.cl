// The paper's kernels: a work-group is LOCAL_X work-items across, each with WIDTH neighbouring columns, and LOCAL_Y down, which share
// the rows of a column. v is staged in local memory, an element a work-item at a time.
#define RESTRICT
#include "tmv/include/tmv.cl"

#if WIDTH == 1
#define LOAD_COLUMNS(p, left) (*(p))
#elif ALIGNED
#define LOAD_COLUMNS(p, left) (*(global const REAL2 *)(p))
#else
#define LOAD_COLUMNS(p, left) ((left) > 1 ? vload2(0, p) : (REAL2)(*(p), 0))
#endif

// `count` rows of a column from `first` on, times what is staged of v: the inner loop of the listing.
#define ADD_ROWS(count)                                                                                 \
    for (int j = 0; j < (count); ++j) {                                                                 \
        const REALV t = LOAD_COLUMNS(A + (size_t)(first + j) * stride + col, cols - col);               \
        dot_product += t * (REALV)(shared_1[mine + j]);                                                 \
    }

inline REALV column_sums(TMV_ARGUMENTS, const int col, local REAL *shared_1) {
    const int tid_x = get_local_id(0), mine = (int)get_local_id(1) * LOCAL_X;
    REALV dot_product = (REALV)(0);
    for (int i = 0; i < rows; i += LOCAL_Y * LOCAL_X) {
        const int first = i + mine, left = rows - first;
        if (tid_x < left) shared_1[mine + tid_x] = v[first + tid_x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (col < cols) {
            if (left >= LOCAL_X) ADD_ROWS(LOCAL_X)  // so many at once may be unrolled, as the listing's
            else ADD_ROWS(left)
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return dot_product;
}

inline void store_columns(global REAL *y, const int cols, const int col, const REALV sum) {
#if WIDTH == 1
    if (col < cols) y[col] = sum;
#else
    if (col < cols) y[col] = sum.x;
    if (col + 1 < cols) y[col + 1] = sum.y;
#endif
}
