// Where atoms are read from and how wide. ATOMS: 0 global memory, 1 staged in local memory, 2 an image, 3 an image staged in local memory.
// VECTOR scalars a load: with MATH=0 of one atom, which lies there as (x, y, z, q); with MATH=1 of so many atoms, which are then
// computed together and lie there as all x, all y, all z, all q.
#define STAGED (ATOMS == 1 || ATOMS == 3)
#define ATOMS_AT_ONCE (MATH ? VECTOR : 1)
#if (FORM == 0 && !SPECIALIZED) || (FORM == 0 && REGION == 1) || (FORM == 1 && KIND == 3)
#define WITH_DEPTH 1
#else
#define WITH_DEPTH 0
#endif
#if ATOMS >= 2
#define ATOM_SOURCE read_only image1d_buffer_t
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
#if ATOMS == 2
#define ONE_LOAD(i) read_imagef(atoms, i)
#define SCALAR(i, c) read_imagef(atoms, i).s##c
#define LANES(i, c) read_imagef(atoms, ((c) * natoms + (i)) / 4)
#else
#if STAGED
#define HELD tile_atoms
#define STRIDE LOCAL
#else
#define HELD atoms
#define STRIDE natoms
#endif
#define ONE_LOAD(i) vload4(i, HELD)
#define SCALAR(i, c) HELD[4 * (i) + c]
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

// Each work-item brings four scalars of a tile of LOCAL atoms.
#if STAGED
#if ATOMS == 3
#define BROUGHT(texel) PASTE(convert_, REAL4)(read_imagef(atoms, texel))
#else
#define BROUGHT(texel) vload4(texel, atoms)
#endif
#if MATH
#define TEXEL(tile) (lane / (LOCAL / 4) * (natoms / 4) + (tile) / 4 + lane % (LOCAL / 4))
#else
#define TEXEL(tile) ((tile) + lane)
#endif
#define STAGE(tile)                                                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                      \
    vstore4(BROUGHT(TEXEL(tile)), lane, tile_atoms);                   \
    if (WITH_DEPTH) tile_depth[lane] = depth[(tile) + lane];           \
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
