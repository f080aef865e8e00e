// One vertex a work-item, all atoms in turn; every optimization of the paper is a switch, so that all combinations can be run.
// Switched off they are what the paper starts from: flags tested a pair, sums and vertices in global memory.
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
#define SHIFT_OF(vertex) shifts[SALT ? (vertex) : 0]
#else
#define SHIFT_OF(vertex) shifts[salt_here ? (vertex) : 0]
#endif

// Where a work-item's vertex lives: VERTEX 0 global memory, 1 local, 2 private.
#if VERTEX == 1
#define POINT own_points[lane]
#define SHIFT own_shifts[lane]
#elif VERTEX == 2
#define POINT own_point
#define SHIFT own_shift
#else
#define POINT points[vertex]
#define SHIFT SHIFT_OF(vertex)
#endif

#if REGISTER_SUM
#define ADD(term) sum += term;
#else
#define ADD(term)                                         \
    {                                                     \
        const REALV added = term; /* once, for all lanes */ \
        if (live) phi[vertex] += SUM_OF_LANES(added);     \
    }
#endif

#if FORM == 0
#define TERM \
    literal_term(dx, dy, dz, atom.charge, atom.depth, SHIFT, POINT.w, model, region, salt, part)
#else
#define TERM                                                                                                          \
    atom.charge *minimal_term(                                                                                        \
        NOT_NEARER(fma(dx, dx, fma(dy, dy, dz * dz))),                                                                \
        NOT_NEARER(fma(dx + SHIFT.x, dx + SHIFT.x, fma(dy + SHIFT.y, dy + SHIFT.y, (dz + SHIFT.z) * (dz + SHIFT.z)))), \
        atom.depth, \
        (model[SIZE] - POINT.w) * (model[SIZE] + POINT.w), model)
#endif
#define PAIR(i)                                                                             \
    {                                                                                       \
        BEFORE_LOAD(i)                                                                      \
        const ATOM atom = LOAD_ATOM(i);                                                     \
        const REALV dx = POINT.x - atom.x, dy = POINT.y - atom.y, dz = POINT.z - atom.z;    \
        ADD(TERM)                                                                           \
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
    POINT = points[vertex];
    SHIFT = SHIFT_OF(vertex);
#elif VERTEX == 2
    const REAL4 POINT = points[vertex], SHIFT = SHIFT_OF(vertex);
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
    phi[vertex] = minimal_potential(phi[vertex], POINT.w, model);
#endif
}
