// Adds the sums of parts of the atoms, always in the same order, and makes potentials of them.
#include "gem/include/minimal.cl"

kernel void gem_finish(global const REAL *sums, const int parts, const int first, const int count, global const REAL4 *points,
                       constant REAL *model, global REAL *phi) {
    const int at = get_global_id(0);
    if (at >= count) return;
    REAL sum = 0;
    for (int part = 0; part < parts; ++part) sum += sums[(size_t)part * count + at];
    phi[first + at] = minimal_potential(sum, points[first + at].w, model);
}
