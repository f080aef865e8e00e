// Where atoms are read from and how wide. ATOMS: 0 global memory, 2 an image of one row on a buffer, 4 an image of two dimensions, whose
// rows hold one atom after the other; 1, 3, 5 the same staged in local memory. VECTOR scalars a load. Wider loads with MATH=0 are of one
// atom, which lies there as (x, y, z, q). With MATH=1 so many atoms are computed together; they, and scalars outside images, lie there
// as all x, all y, all z, all q.
#define STAGED (ATOMS % 2 == 1)
#define BY_COMPONENT (MATH || (VECTOR == 1 && ATOMS < 2))
#define ATOMS_AT_ONCE (MATH ? VECTOR : 1)
#if (FORM == 0 && !SPECIALIZED) || (FORM == 0 && REGION == 1) || (FORM == 1 && KIND == 3)
#define WITH_DEPTH 1
#else
#define WITH_DEPTH 0
#endif
#if ATOMS >= 4
#ifndef LOG_WIDTH  // a plan gives the one that makes the image about square
#define LOG_WIDTH 8
#endif
#define ATOM_SOURCE read_only image2d_t
constant sampler_t texels = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
#define FETCH(i) read_imagef(atoms, texels, (int2)((i) & ((1 << LOG_WIDTH) - 1), (i) >> LOG_WIDTH))
#elif ATOMS >= 2
#define ATOM_SOURCE read_only image1d_buffer_t
#define FETCH(i) read_imagef(atoms, i)
#else
#define ATOM_SOURCE global const REAL *
#endif

typedef struct {
    REALV x, y, z, charge, depth;
} ATOM;

#if WIDTH == 1
#define SUM_OF_LANES(v) (v)
#elif WIDTH == 2
#define SUM_OF_LANES(v) ((v).x + (v).y)
#else
#define SUM_OF_LANES(v) (((v).x + (v).y) + ((v).z + (v).w))
#endif

// Four loads of one scalar, two of two, or one of four.
#if ATOMS == 2 || ATOMS == 4
#define ONE_LOAD(i) FETCH(i)
#define SCALAR(i, c) FETCH(i).s##c
#define LANES(i, c) FETCH(((c) * natoms + (i)) / 4)
#else
#if STAGED
#define HELD tile_atoms
#define STRIDE LOCAL
#else
#define HELD atoms
#define STRIDE natoms
#endif
#define ONE_LOAD(i) vload4(i, HELD)
#if BY_COMPONENT
#define SCALAR(i, c) HELD[(c) * STRIDE + (i)]
#else
#define SCALAR(i, c) HELD[4 * (i) + c]
#endif
#define LANES(i, c) VLOAD(HELD + (c) * STRIDE + (i))
#endif
#if STAGED
#define DEPTHS tile_depth
#else
#define DEPTHS depth
#endif
#define DEPTH(i) (WITH_DEPTH ? VLOAD(DEPTHS + (i)) : (REALV)(0))

#if MATH
#define LOAD_ATOM(i) {LANES(i, 0), LANES(i, 1), LANES(i, 2), LANES(i, 3), DEPTH(i)}
#elif VECTOR == 1
#define LOAD_ATOM(i) {SCALAR(i, 0), SCALAR(i, 1), SCALAR(i, 2), SCALAR(i, 3), DEPTH(i)}
#elif VECTOR == 2
#define LOAD_ATOM(i) {pair[0].x, pair[0].y, pair[1].x, pair[1].y, DEPTH(i)}
#define BEFORE_LOAD(i) const REAL2 pair[2] = {vload2(2 * (i), HELD), vload2(2 * (i) + 1, HELD)};
#else
#define LOAD_ATOM(i) {whole.x, whole.y, whole.z, whole.w, DEPTH(i)}
#define BEFORE_LOAD(i) const REAL4 whole = ONE_LOAD(i);
#endif
#ifndef BEFORE_LOAD
#define BEFORE_LOAD(i)
#endif

// Each work-item brings four scalars of a tile of LOCAL atoms, of which the last may have fewer.
#if STAGED
#if ATOMS >= 2
#define BROUGHT(texel) PASTE(convert_, REAL4)(FETCH(texel))
#else
#define BROUGHT(texel) vload4(texel, atoms)
#endif
#if BY_COMPONENT
#define TEXEL(tile) (lane / (LOCAL / 4) * (natoms / 4) + (tile) / 4 + lane % (LOCAL / 4))
#define BRINGS(tile) ((tile) + lane % (LOCAL / 4) * 4 < natoms)
#else
#define TEXEL(tile) ((tile) + lane)
#define BRINGS(tile) ((tile) + lane < natoms)
#endif
#define STAGE(tile)                                                                            \
    barrier(CLK_LOCAL_MEM_FENCE);                                                              \
    if (BRINGS(tile)) vstore4(BROUGHT(TEXEL(tile)), lane, tile_atoms);                         \
    if (WITH_DEPTH && (tile) + lane < natoms) tile_depth[lane] = depth[(tile) + lane];         \
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
