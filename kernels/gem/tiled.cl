// VERTICES vertices a work-item share each atom's load; atoms come in tiles, from local memory or straight from global memory, where
// all lanes read the same, and PARTS work-groups split the atoms of the same vertices among them (a second pass adds their sums).
// DISTANCE: 0 by differences (6 operations), 1 as |a|^2 + |p|^2 - 2 a.p with the origin at the molecule's centre (4), 2 the same with
// the origin at each tile's centre, which keeps the accuracy of differences. Expanded squares lose digits with the
// square of the extent: near contacts want differences, which is what plain calls take.
#include "gem/include/minimal.cl"

#define EXPANDED (DISTANCE > 0)
#define WITH_T (KIND == 1 || KIND == 2 || SALT)
#define WITH_DEPTH (KIND == 3)

#if STAGED
#define AT(name, i) tile_##name[i]
#else
#define AT(name, i) FROM_TILE_##name(i)
#define FROM_TILE_atoms(i) atoms[tile + (i)]
#define FROM_TILE_squares(i) squares[tile / 4 + (i)]
#define FROM_TILE_depths(i) vload4(tile / 4 + (i), depth)
#endif
// Four atoms' at a time: one wide load.
#if WITH_DEPTH
#define DEPTH_AT(i, j) PART_OF(AT(depths, (i) / 4), j)
#else
#define DEPTH_AT(i, j) 0
#endif
#define PART_OF(four, i) ((i) == 0 ? (four).x : (i) == 1 ? (four).y : (i) == 2 ? (four).z : (four).w)

inline REAL4 with_square(const REAL x, const REAL y, const REAL z) {
    return (REAL4)(x, y, z, fma(x, x, fma(y, y, z * z)));
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void gem_tiled(GEM_ARGUMENTS(global const REAL4 *),
                                                                         global const REAL4 *squares,
                                                                         global const REAL4 *centres, const int tiles_a_part,
                                                                         global REAL *sums) {
    const int lane = get_local_id(0), own = (int)get_group_id(0) * (LOCAL * VERTICES) + lane;
    REAL4 place[VERTICES], shift[VERTICES];
    REAL height[VERTICES], sum[VERTICES];
#pragma unroll
    for (int v = 0; v < VERTICES; ++v) {
        const int at = first + min(own + v * LOCAL, count - 1);
        const REAL4 p = points[at], s = WITH_T ? shifts[at] : (REAL4)(0);
        height[v] = HEIGHT(p.w);
        sum[v] = 0;
        place[v] = p;
        shift[v] = s;
#if DISTANCE == 0 && KIND == 2
        shift[v].w = with_square(s.x, s.y, s.z).w / 2;
#elif DISTANCE == 0
        shift[v] = (REAL4)(2 * s.x, 2 * s.y, 2 * s.z, with_square(s.x, s.y, s.z).w);
#elif DISTANCE == 1
        place[v] = with_square(p.x, p.y, p.z);
        shift[v] = with_square(p.x + s.x, p.y + s.y, p.z + s.z);
#endif
    }
#if STAGED
    local REAL4 tile_atoms[TILE];
#if EXPANDED
    local REAL4 tile_squares[TILE / 4];
#endif
#if WITH_DEPTH
    local REAL4 tile_depths[TILE / 4];
#endif
#endif
    const int from = (int)get_group_id(1) * tiles_a_part * TILE, to = min(from + tiles_a_part * TILE, natoms);
    for (int tile = from; tile < to; tile += TILE) {
#if STAGED
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lane; i < TILE; i += LOCAL) tile_atoms[i] = atoms[tile + i];
#if EXPANDED
        for (int i = lane; i < TILE / 4; i += LOCAL) tile_squares[i] = squares[tile / 4 + i];
#endif
#if WITH_DEPTH
        for (int i = lane; i < TILE / 4; i += LOCAL) tile_depths[i] = vload4(tile / 4 + i, depth);
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
#if DISTANCE == 2
        REAL4 near[VERTICES], far[VERTICES];
        const REAL4 centre = centres[tile / TILE];
#pragma unroll
        for (int v = 0; v < VERTICES; ++v) {
            near[v] = with_square(place[v].x - centre.x, place[v].y - centre.y, place[v].z - centre.z);
            far[v] = with_square(near[v].x + shift[v].x, near[v].y + shift[v].y, near[v].z + shift[v].z);
        }
#else
#define near place
#define far shift
#endif
#if BLOCKED
        REAL tile_sum[VERTICES];
#pragma unroll
        for (int v = 0; v < VERTICES; ++v) tile_sum[v] = 0;
#else
#define tile_sum sum
#endif
#pragma unroll UNROLL
        for (int i = 0; i < TILE; i += 4) {
#if EXPANDED
            const REAL4 four_squares = AT(squares, i / 4);
#endif
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const REAL4 atom = AT(atoms, i + j);
#if EXPANDED
                const REAL square = PART_OF(four_squares, j);
#endif
#pragma unroll
                for (int v = 0; v < VERTICES; ++v) {
#if EXPANDED  // the coordinates of atoms are stored times -2
                    const REAL whole =
                        fma(atom.x, near[v].x, fma(atom.y, near[v].y, fma(atom.z, near[v].z, square + near[v].w)));
#define OTHER_SQUARE fma(atom.x, far[v].x, fma(atom.y, far[v].y, fma(atom.z, far[v].z, square + far[v].w)))
#else
                    const REAL dx = place[v].x - atom.x, dy = place[v].y - atom.y, dz = place[v].z - atom.z;
                    const REAL whole = fma(dx, dx, fma(dy, dy, dz * dz));
#if KIND == 2  // d' may be far below d, and the difference far below both
                    const REAL ex = dx + shift[v].x, ey = dy + shift[v].y, ez = dz + shift[v].z;
                    const REAL longer =
                        2 * fma(shift[v].x, dx, fma(shift[v].y, dy, fma(shift[v].z, dz, shift[v].w)));
#define OTHER_SQUARE fma(ex, ex, fma(ey, ey, ez * ez))
#define LONGER_BY longer
#else
#define OTHER_SQUARE fma(shift[v].x, dx, fma(shift[v].y, dy, fma(shift[v].z, dz, whole + shift[v].w)))
#endif
#endif
#if KIND != 2
#define LONGER_BY 0
#elif EXPANDED
#define LONGER_BY (OTHER_SQUARE - whole)
#endif
                    const REAL d2 = NOT_NEARER(whole);
#if RSQRT == 4 && KIND == 0
                    const REAL term = j == 0 && v == 0 ? COMPUTED_ROOT(d2) : RECIPROCAL_ROOT(d2);
#else
                    const REAL term =
                        minimal_term(d2, NOT_NEARER(OTHER_SQUARE), LONGER_BY, DEPTH_AT(i, j), height[v], model);
#endif
                    tile_sum[v] = fma(atom.w, term, tile_sum[v]);
                }
            }
        }
#if BLOCKED
#pragma unroll
        for (int v = 0; v < VERTICES; ++v) sum[v] += tile_sum[v];
#endif
    }
#pragma unroll
    for (int v = 0; v < VERTICES; ++v) {
        const int at = own + v * LOCAL;
        if (at >= count) continue;
#if PARTS == 1
        phi[first + at] = minimal_potential(sum[v], points[first + at].w, model);
#else
        sums[(size_t)get_group_id(1) * count + at] = sum[v];
#endif
    }
}
