// Four neighbouring elements of x from `col` on, zero outside it: one 4-wide load where all lie inside.
#include "spmv/include/dia.cl"

inline REAL4 four_of_x(global const REAL* restrict x, const INDEX col, const INDEX cols) {
    REAL4 v;
    if (col >= 0 && col <= cols - 4) {
        v = vload4(0, x + col);
    } else {
        v.x = col >= 0 && col < cols ? x[col] : 0;
        v.y = col >= -1 && col < cols - 1 ? x[col + 1] : 0;
        v.z = col >= -2 && col < cols - 2 ? x[col + 2] : 0;
        v.w = col >= -3 && col < cols - 3 ? x[col + 3] : 0;
    }
    return v;
}

#define DIA_STORE_FOUR(row, sum)                     \
    if ((row) < rows) DIA_STORE(row, (sum).x);         \
    if ((row) + 1 < rows) DIA_STORE((row) + 1, (sum).y); \
    if ((row) + 2 < rows) DIA_STORE((row) + 2, (sum).z); \
    if ((row) + 3 < rows) DIA_STORE((row) + 3, (sum).w)
