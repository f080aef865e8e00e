// RECIPROCAL_ROOT(x) of REALV lanes, x > 0, by -DRSQRT: 0 as 1/sqrt, 1 the native function, 2 the special function unit's own
// instruction without its care for denormals (PTX), 3 an estimate polished by Newton's rule, for devices whose native function divides.
// 4 is 2, and offers COMPUTED_ROOT(x), of the arithmetic units alone, for a share of the roots that the special ones have no time for;
// 5 is 1 with a Newton step, where the native function is a mere estimate.
#if RSQRT == 0
#define RECIPROCAL_ROOT(x) (1 / sqrt(x))
#elif RSQRT == 1 && defined(REAL_IS_DOUBLE)
#define RECIPROCAL_ROOT(x) rsqrt(x)
#elif RSQRT == 1
#define RECIPROCAL_ROOT(x) native_rsqrt(x)
#elif RSQRT == 2 || RSQRT == 4
inline float reciprocal_root(const float x) {
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}
#define RECIPROCAL_ROOT(x) reciprocal_root(x)
inline float COMPUTED_ROOT(const float x) {  // 6.5e-4, then 6e-7
    float root = as_float(0x5F1FFFF9 - (as_int(x) >> 1));
    root *= 0.703952253f * fma(-x * root, root, 2.38924456f);
    return root * fma(-0.5f * x * root, root, 1.5f);
}
#elif RSQRT == 5
inline REALV reciprocal_root(const REALV x) {
#ifdef REAL_IS_DOUBLE
    return rsqrt(x);
#else
    const REALV root = native_rsqrt(x);
    return fma(root * (REALV)(0.5f), fma(-x * root, root, (REALV)(1)), root);
#endif
}
#define RECIPROCAL_ROOT(x) reciprocal_root(x)
#else
#ifdef REAL_IS_DOUBLE
#define WORD long
#else
#define WORD int
#endif
#if WIDTH == 1
#define WORDV WORD
#else
#define WORDV PASTE(WORD, WIDTH)
#endif
inline REALV reciprocal_root(const REALV x) {
#if defined(REAL_IS_DOUBLE)
    REALV root = PASTE(as_, REALV)((WORDV)(0x5FE6EB50C7B537A9) - (PASTE(as_, WORDV)(x) >> 1));
    for (int step = 0; step < 4; ++step)  // 3.4 %, 0.17 %, 4e-6, 3e-11, all bits
        root = fma(root * (REALV)(0.5), fma(-x * root, root, (REALV)(1)), root);
    return root;
#elif WIDTH == 16 && defined(__AVX512F__) && __has_builtin(__builtin_ia32_rsqrt14ps512_mask)
    // 14 bits by one instruction, all by one step.
    const REALV root = __builtin_ia32_rsqrt14ps512_mask(x, x, (ushort)0xFFFF);
    return fma(root * (REALV)(0.5f), fma(-x * root, root, (REALV)(1)), root);
#else
    // 6.5e-4 after the first step, whose constants make up for the estimate's bias; then a step of third order.
    REALV root = PASTE(as_, REALV)((WORDV)(0x5F1FFFF9) - (PASTE(as_, WORDV)(x) >> 1));
    root *= (REALV)(0.703952253f) * fma(-x * root, root, (REALV)(2.38924456f));
    const REALV rest = fma(-x * root, root, (REALV)(1));
    return fma(root * rest, fma((REALV)(0.375f), rest, (REALV)(0.5f)), root);
#endif
}
#define RECIPROCAL_ROOT(x) reciprocal_root(x)
#endif
