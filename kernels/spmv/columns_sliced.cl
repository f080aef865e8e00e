// For CPUs, x and y of several columns, row-major: ITEMS work-items, each a run of slices; a row's values stay in the first cache while its
// columns pass, WIDTH at a time. The matrix is read once for all columns.
#include "spmv/include/dia.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_columns_sliced(DIA_ARGUMENTS) {
    const long slices = ((long)rows + SLICE - 1) / SLICE;
    const long first = slices * (long)get_global_id(0) / ITEMS, last = slices * ((long)get_global_id(0) + 1) / ITEMS;
    for (long slice = first; slice < last; ++slice) {
        const INDEX base = (INDEX)(slice * SLICE), count = min((INDEX)SLICE, (INDEX)(rows - base));
        for (INDEX i = 0; i < count; ++i) {
            global const VALUE* entry = val + slice * diags * SLICE + i;
            const INDEX row = base + i;
            int column = 0;
            for (; column + WIDTH <= vectors; column += WIDTH) {
                REALV sum = (REALV)(0);
                for (int k = 0; k < diags; ++k) {
                    const INDEX col = row + offsets[k];
                    if (col >= 0 && col < cols)
                        sum = fma((REALV)(LOAD_VALUE(entry + (long)k * SLICE)), VLOAD(x + (long)col * vectors + column), sum);
                }
                REAL lanes[WIDTH];
                VSTORE(sum, lanes);
                for (int c = 0; c < WIDTH; ++c) DIA_STORE((long)row * vectors + column + c, lanes[c]);
            }
            for (; column < vectors; ++column) {
                REAL sum = 0;
                for (int k = 0; k < diags; ++k) {
                    const INDEX col = row + offsets[k];
                    if (col >= 0 && col < cols) sum = fma(LOAD_VALUE(entry + (long)k * SLICE), x[(long)col * vectors + column], sum);
                }
                DIA_STORE((long)row * vectors + column, sum);
            }
        }
    }
}
