// For CPUs: as row_blocks, on values as SciPy holds them, which nothing packs first: for a matrix that is multiplied
// once. Entry k of row i stands at val[places[k] + i], in whatever order diagonals were given and wherever memory
// begins.
#define DISTANCES global const long* restrict places
#define BEHIND(k) places[k]
#include "spmv/include/blocks.cl"

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_unpacked(DIA_ARGUMENTS,
                                                                         global const long* restrict places) {
    const long blocks = ((long)rows + BLOCK - 1) / BLOCK;
    const long first = blocks * (long)get_global_id(0) / ITEMS, last = blocks * ((long)get_global_id(0) + 1) / ITEMS;
    for (long block = first; block < last; ++block) DIA_BLOCK((INDEX)(block * BLOCK), val + block * BLOCK, places)
}
