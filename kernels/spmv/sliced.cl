// For CPUs: ITEMS work-items, each a run of slices of SLICE rows whose values lie in one stream; explicit WIDTH-wide vectors, bounds tests
// only near the rim of the matrix. One address stream instead of one a diagonal. On a GPU it leaves the device idle.
#define BLOCK SLICE
#include "spmv/include/blocks.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_sliced(DIA_ARGUMENTS) {
    const long slices = ((long)rows + SLICE - 1) / SLICE;
    const long first = slices * (long)get_global_id(0) / ITEMS, last = slices * ((long)get_global_id(0) + 1) / ITEMS;
    for (long slice = first; slice < last; ++slice) DIA_BLOCK((INDEX)(slice * SLICE), val + slice * diags * SLICE, SLICE)
}
