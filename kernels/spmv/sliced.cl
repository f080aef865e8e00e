// For CPUs: ITEMS work-items, each a run of slices of SLICE rows whose values lie in one stream; explicit WIDTH-wide vectors,
// x padded, no bounds test. One address stream instead of one a diagonal. On a GPU it leaves the device idle.
#include "common/dia.cl"

#define VECTORS (SLICE / WIDTH)

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_sliced(DIA_ARGUMENTS) {
    const long slices = ((long)rows + SLICE - 1) / SLICE;
    const long first = slices * (long)get_global_id(0) / ITEMS, last = slices * ((long)get_global_id(0) + 1) / ITEMS;
    for (long slice = first; slice < last; ++slice) {
        const INDEX row = (INDEX)(slice * SLICE);
        global const REAL* entry = val + slice * diags * SLICE;
        global const REAL* vector = x + x_origin + row;
        REALV sum[VECTORS];
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) sum[j] = (REALV)(0);
        for (int k = 0; k < diags; ++k) {
            const INDEX offset = offsets[k];
#pragma unroll
            for (int j = 0; j < VECTORS; ++j) sum[j] = fma(VLOAD(entry + j * WIDTH), VLOAD(vector + offset + j * WIDTH), sum[j]);
            entry += SLICE;
        }
        REAL result[SLICE];
#pragma unroll
        for (int j = 0; j < VECTORS; ++j) VSTORE(sum[j], result + j * WIDTH);
        const int count = (int)min((INDEX)SLICE, (INDEX)(rows - row));
        for (int i = 0; i < count; ++i) DIA_STORE(row + i, result[i]);
    }
}
