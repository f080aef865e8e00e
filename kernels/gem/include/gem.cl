// GEM (Fenley, Gordon, Onufriev 2008; Daga, Scogland, Feng 2011): what one atom adds to the potential at one vertex, in REALV lanes.
// Literal: the model's formulas as written, for any region, salt and part. Minimal: the same with everything that does not depend on
// the pair taken out: K0 (no salt), K1 (salt, Stern layer), K2 (salt, bulk), K3 (inside); the host picks, by -DKIND.
#ifndef GEM_ARGUMENTS
#include "common/real.cl"

// A vertex: p and its distance r from the centre; shift = p' - p, from the vertex to the edge of the ion-free layer. An atom: its
// place and charge (kcal A/(mol e)); depth = r_i (literal) or 1 - (r_i/A)^2 (minimal).
#define GEM_ARGUMENTS(ATOMS)                                                                                                    \
    ATOMS atoms, global const REAL *depth, const int natoms, global const REAL4 *points, global const REAL4 *shifts,            \
        const int first, const int count, constant REAL *model, const int region_here, const int salt_here,                     \
        const int part_here, global REAL *phi

// model[]: the same order as in src/workloads/gem/model.cpp.
enum { ALPHA, BETA, EPS_IN, EPS_OUT, KAPPA, SIZE, SIZE_B, IMAGE, NEAREST, CHARGE, OUTSIDE, SCALE, WITH_U, WITH_G, WITH_D, KAPPA_2 };
enum { TOTAL, COULOMB, REACTION };

#ifndef CLAMP
#define CLAMP 0
#endif
#if CLAMP
#define NOT_NEARER(d2) max(d2, (REALV)(model[NEAREST]))
#else
#define NOT_NEARER(d2) (d2)
#endif

#ifndef RSQRT
#define RSQRT 1
#endif
#include "gem/include/rsqrt.cl"
#endif
