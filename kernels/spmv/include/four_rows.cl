// Four neighbouring elements of x, and four results as one store.
#include "spmv/include/dia.cl"
#define INDEX4 PASTE(INDEX, 4)

// Elements of x from `col` on, zero outside it: one 4-wide load inside, except for the last four, as in the listing.
inline REAL4 four_of_x(global const REAL* RESTRICT x, const INDEX col, const INDEX cols) {
    REAL4 v;
    if (col >= 0 && col < cols - 4) {
        v = vload4(0, x + col);
    } else {
        const INDEX4 id = col + (INDEX4)(0, 1, 2, 3);
        const INDEX4 in_bounds = id >= (INDEX4)(0) && id < (INDEX4)(cols);
        v.x = in_bounds.x ? x[id.x] : 0;
        v.y = in_bounds.y ? x[id.y] : 0;
        v.z = in_bounds.z ? x[id.z] : 0;
        v.w = in_bounds.w ? x[id.w] : 0;
    }
    return v;
}

// y has no room behind its last row: the last rows are stored one by one where they are no four.
inline void store_four(global REAL* y, global const REAL* addend, const INDEX row, const INDEX rows, const REAL4 sum, const REAL alpha,
                       const REAL beta) {
    if (row + 3 < rows) {
        vstore4(beta == 0 ? alpha * sum : fma((REAL4)(beta), vload4(0, addend + row), alpha * sum), 0, y + row);
        return;
    }
    DIA_STORE(row, sum.x);
    if (row + 1 < rows) DIA_STORE(row + 1, sum.y);
    if (row + 2 < rows) DIA_STORE(row + 2, sum.z);
}
