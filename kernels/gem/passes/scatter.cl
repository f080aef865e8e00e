// Potentials from the order in which they were computed, by region, to the caller's.
#include "common/real.cl"

kernel void gem_scatter(global const REAL *sorted, global const int *index, const int count, global REAL *phi) {
    const int at = get_global_id(0);
    if (at < count) phi[index[at]] = sorted[at];
}
