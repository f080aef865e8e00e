// For CPUs: ITEMS work-items, each a run of blocks of BLOCK rows in explicit WIDTH-wide vectors, bounds tests only near the rim of the
// matrix; the paper's layout. One address stream a diagonal: more than a TLB holds, which is what sliced mends by another layout.
#include "spmv/include/blocks.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_row_blocks(DIA_ARGUMENTS) {
    const long blocks = ((long)rows + BLOCK - 1) / BLOCK;
    const long first = blocks * (long)get_global_id(0) / ITEMS, last = blocks * ((long)get_global_id(0) + 1) / ITEMS;
    for (long block = first; block < last; ++block) DIA_BLOCK((INDEX)(block * BLOCK), val + block * BLOCK, pitch)
}
