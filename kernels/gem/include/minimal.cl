// The minimal forms: phi = SCALE sum q term + CHARGE offset. KIND is K0..K3; SALT, whether the outer layer's ions count (K1, K2 always);
// DIRECT, whether 1/d is part of the term; MINUS_COULOMB, whether K2 is the reaction's.
#include "gem/include/gem.cl"
#ifndef KIND
#define KIND 0
#endif
#ifndef SALT
#define SALT 0
#endif
#ifndef DIRECT
#define DIRECT 1
#endif
#ifndef MINUS_COULOMB
#define MINUS_COULOMB 0
#endif

// What a native function is worth is the driver's affair: NVIDIA's has all but two bits, that of Intel's CPU runtime 13 on a processor
// without AVX-512 (AMD EPYC 7003, 2026-11).
#if defined(__NV_CL_C_VERSION) && !defined(REAL_IS_DOUBLE)
#define EXP2(x) native_exp2(x)
#define RATIO(x, y) native_divide(x, y)
#else
#define EXP2(x) exp2(x)
#define RATIO(x, y) ((x) / (y))
#endif

// The height A^2 - r^2 of a point, from its w: the distance r, which only KIND 1 and 2 read, or of KIND 3 the height itself, for a
// difference of rounded lengths would have lost digits.
#define HEIGHT(w) (KIND == 3 ? (w) : (REAL)(0))

// Distances that are not below the nearest one are the atoms' own.
#if CLAMP
#define LONGER(d2, t, longer) ((d2) > (REALV)(model[NEAREST]) && (t) > (REALV)(model[NEAREST]) ? (longer) : (t) - (d2))
#else
#define LONGER(d2, t, longer) (longer)
#endif

// d2 and t are the squares of d and d', longer their difference t - d2, which KIND 2 alone reads and where rounded squares have lost
// digits; depth is 1 - (r_i/A)^2, height A^2 - r^2.
inline REALV minimal_term(const REALV d2, const REALV t, const REALV longer, const REALV depth, const REALV height,
                          constant REAL *model) {
#if KIND == 0
    return RECIPROCAL_ROOT(d2);
#else
#if KIND == 3 && !SALT
    REALV term = DIRECT ? RECIPROCAL_ROOT(d2) : (REALV)(0);
#else
    const REALV away = t * RECIPROCAL_ROOT(t), u = fma((REALV)(model[KAPPA]), away, (REALV)(1));
#if KIND != 2 && !DIRECT  // no 1/d: finite on an atom
    REALV term = (REALV)(-model[WITH_U]) * RECIPROCAL_ROOT(u * u);
#else
    // w = 1/(d u) serves both reciprocals: 1/d = w u, 1/u = w (w d^2 u).
    const REALV d2u = d2 * u, w = RECIPROCAL_ROOT(d2u * u);
#if KIND == 2
    // d' - d = (d'^2 - d^2) / (d' + d)
    REALV term = EXP2((REALV)(model[KAPPA_2]) * RATIO(LONGER(d2, t, longer), fma(d2u, w, away))) * w;
    if (MINUS_COULOMB) term = fma((REALV)(-model[WITH_D]) * w, u, term);
#else
    REALV term = w * fma((REALV)(-model[WITH_U]), w * d2u, DIRECT ? u : (REALV)(0));
#endif
#endif
#endif
#if KIND == 3
    term = fma((REALV)(-model[WITH_G]), RECIPROCAL_ROOT(fma(depth, height, d2)), term);
#endif
    return term;
#endif
}

// What the whole charge adds, whatever the atoms' places.
inline REAL minimal_offset(const REAL r, constant REAL *model) {
    if (model[OUTSIDE] == 0) return 0;
    const REAL edge = 1 + model[KAPPA] * model[SIZE_B];
#if KIND == 3
    return -model[OUTSIDE] * (1 / model[SIZE] - model[KAPPA] / edge) + model[IMAGE];
#elif KIND == 2
    return -model[OUTSIDE] * exp(-model[KAPPA] * (r - model[SIZE_B])) / (r * edge);
#else
    return -model[OUTSIDE] * (1 / r - model[KAPPA] / edge) + (r <= model[SIZE] ? model[IMAGE] : 0);  // no salt: KAPPA is 0
#endif
}

inline REAL minimal_potential(const REAL sum, const REAL r, constant REAL *model) {
    return fma(model[SCALE], sum, model[CHARGE] * minimal_offset(r, model));
}
