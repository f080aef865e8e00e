// One vertex a work-item, all atoms in turn; every optimization of the paper is a switch, so that all combinations can be run.
// Switched off they are our reading of the article's basic kernel: flags tested a pair, sums and vertices in global memory.
// Spends the load of an atom on each pair; where one load serves several vertices, `tiled` is faster.
#if !defined(LOCAL) || LOCAL == 0  // a plan gives the number that the device takes
#undef LOCAL
#define LOCAL 64
#endif
#if MATH
#define WIDTH VECTOR
#endif
#include "gem/include/gem.cl"
#if FORM == 0
#include "gem/include/literal.cl"
#else
#include "gem/include/minimal.cl"
#endif
#include "gem/include/atoms.cl"

// A specialized kernel tests no flag, not even for what it loads.
#if SPECIALIZED
#define SHIFTED(vertex) (SALT ? (vertex) : 0)
#else
#define SHIFTED(vertex) (salt_here ? (vertex) : 0)
#endif

// Where a work-item's vertex lives: VERTEX 0 global memory, 1 local, 2 private. What lives in memory is read there for each pair: `still`
// is 0, which no compiler knows; it would else keep the value in a register, and make one of the paper's steps of another.
#define HERE(i) ((i) & still)
#if VERTEX == 1
#define POINT(i) own_points[lane + HERE(i)]
#define SHIFT(i) own_shifts[lane + HERE(i)]
#elif VERTEX == 2
#define POINT(i) own_point
#define SHIFT(i) own_shift
#else
#define POINT(i) points[vertex + HERE(i)]
#define SHIFT(i) shifts[shifted + HERE(i)]
#endif

#if REGISTER_SUM
#define ADD(i, term) sum += term;
#else
#define ADD(i, term)                                               \
    {                                                              \
        const REALV added = term; /* once, for all lanes */        \
        if (live) phi[vertex + HERE(i)] += SUM_OF_LANES(added);    \
    }
#endif

#if FORM == 0
#define TERM literal_term(dx, dy, dz, atom.charge, atom.depth, shift, point.w, model, region, salt, part)
#else
#define TERM                                                                                                          \
    atom.charge *minimal_term(                                                                                        \
        NOT_NEARER(fma(dx, dx, fma(dy, dy, dz * dz))),                                                                \
        NOT_NEARER(fma(dx + shift.x, dx + shift.x, fma(dy + shift.y, dy + shift.y, (dz + shift.z) * (dz + shift.z)))), \
        fma(shift.x, 2 * dx + shift.x, fma(shift.y, 2 * dy + shift.y, shift.z * (2 * dz + shift.z))),                  \
        atom.depth, HEIGHT(point.w), model)
#endif
#define PAIR(i)                                                                             \
    {                                                                                       \
        BEFORE_LOAD(i)                                                                      \
        const ATOM atom = LOAD_ATOM(i);                                                     \
        const REAL4 point = POINT(i), shift = SHIFT(i);                                     \
        const REALV dx = point.x - atom.x, dy = point.y - atom.y, dz = point.z - atom.z;    \
        ADD(i, TERM)                                                                        \
    }
#if UNROLL == 1
#define PAIRS(i) PAIR(i)
#elif UNROLL == 2
#define PAIRS(i) PAIR(i) PAIR((i) + ATOMS_AT_ONCE)
#else
#define PAIRS(i) PAIR(i) PAIR((i) + ATOMS_AT_ONCE) PAIR((i) + 2 * ATOMS_AT_ONCE) PAIR((i) + 3 * ATOMS_AT_ONCE)
#endif

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void gem_pairs(GEM_ARGUMENTS(ATOM_SOURCE)) {
#if VERTEX == 1 || STAGED
    const int lane = get_local_id(0);
#endif
    const bool live = (int)get_global_id(0) < count;
    const int still = part_here >> 8;
    const int vertex = first + (live ? (int)get_global_id(0) : 0);
#if !STAGED
    if (!live) return;
#endif
#if FORM == 0 && SPECIALIZED
    const int region = REGION, salt = SALT, part = PART;
#elif FORM == 0
    const int region = region_here, salt = salt_here, part = part_here;
#endif
#if VERTEX == 1
    local REAL4 own_points[LOCAL], own_shifts[LOCAL];
    own_points[lane] = points[vertex];
    own_shifts[lane] = shifts[SHIFTED(vertex)];
#elif VERTEX == 2
    const REAL4 own_point = points[vertex], own_shift = shifts[SHIFTED(vertex)];
#else
    const int shifted = SHIFTED(vertex);
#endif
#if REGISTER_SUM
    REALV sum = 0;
#else
    if (live) phi[vertex] = 0;
#endif

#if STAGED
    local REAL tile_atoms[4 * LOCAL], tile_depth[LOCAL];
    for (int tile = 0; tile < natoms; tile += LOCAL) {
        STAGE(tile)
        const int held = live ? min(LOCAL, natoms - tile) : 0;
#pragma unroll 1
        for (int i = 0; i < held; i += UNROLL * ATOMS_AT_ONCE) { PAIRS(i) }
    }
#else
#pragma unroll 1
    for (int i = 0; i < natoms; i += UNROLL * ATOMS_AT_ONCE) { PAIRS(i) }
#endif

#if STAGED
    if (!live) return;
#endif
#if REGISTER_SUM
    phi[vertex] = SUM_OF_LANES(sum);
#endif
#if FORM == 1
    phi[vertex] = minimal_potential(phi[vertex], points[vertex].w, model);
#endif
}
