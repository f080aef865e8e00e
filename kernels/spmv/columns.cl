// x and y of several columns, row-major: a work-item keeps WIDTH columns of one row, so the matrix is read once for all of them.
// Neighbouring work-items take the columns of a row, then the next row. A bounds test an entry serves WIDTH columns.
#include "spmv/include/dia.cl"

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_columns(DIA_ARGUMENTS) {
    const int chunks = (vectors + WIDTH - 1) / WIDTH;
    const long item = (long)get_global_id(0);
    const INDEX row = (INDEX)(item / chunks);
    const int column = (int)(item % chunks) * WIDTH;
    if (row >= rows) return;
    global const VALUE* entry = val + row;
    global const REAL* vector = x + column;
    const long place = (long)row * vectors + column;
    if (column + WIDTH <= vectors) {
        REALV sum = (REALV)(0);
        for (int k = 0; k < diags; ++k) {
            const INDEX col = row + offsets[k];
            if (col >= 0 && col < cols) sum = fma((REALV)(LOAD_VALUE(entry + k * pitch)), VLOAD(vector + (long)col * vectors), sum);
        }
        REAL lanes[WIDTH];
        VSTORE(sum, lanes);
#pragma unroll
        for (int c = 0; c < WIDTH; ++c) DIA_STORE(place + c, lanes[c]);
        return;
    }
    for (int c = 0; column + c < vectors; ++c) {
        REAL sum = 0;
        for (int k = 0; k < diags; ++k) {
            const INDEX col = row + offsets[k];
            if (col >= 0 && col < cols) sum = fma(LOAD_VALUE(entry + k * pitch), vector[(long)col * vectors + c], sum);
        }
        DIA_STORE(place + c, sum);
    }
}
