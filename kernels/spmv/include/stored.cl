// How stored values are read: VALUE is their type in memory, LOAD_VALUE(p) one of them as REAL, LOAD_VALUES(p) WIDTH of them,
// LOAD_ALIGNED(p) the same where p is aligned to all WIDTH: one wide load. HALF=1: 16 bits a value, storage only, no half arithmetic
// needed. LOAD=1: past the L1 cache, for values that are used once (PTX).
#include "common/real.cl"
#ifndef HALF
#define HALF 0
#endif
#ifndef LOAD
#define LOAD 0
#endif

#if HALF
#define VALUE half
#else
#define VALUE REAL
#endif

#if LOAD == 1
#define PTX_LOAD "ld.global.nc.L1::no_allocate"
#else
#define PTX_LOAD "ld.global.nc"
#endif
// NVIDIA's compiler splits vload_half and vloada_half of vectors into loads of 16 bits (driver 580, SASS): PTX there.
#if HALF && (LOAD == 1 || defined(__NV_CL_C_VERSION))
#define HALF_BY_PTX 1
#else
#define HALF_BY_PTX 0
#endif

#if HALF_BY_PTX
inline REAL of_half(const ushort bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return (REAL)value;
}
inline REAL load_value(global const half* p) {
    ushort bits;
    asm(PTX_LOAD ".u16 %0, [%1];" : "=h"(bits) : "l"(p));
    return of_half(bits);
}
#define LOAD_VALUE(p) load_value(p)
#elif LOAD == 1 && defined(REAL_IS_DOUBLE)
inline double load_value(global const double* p) {
    double value;
    asm(PTX_LOAD ".f64 %0, [%1];" : "=d"(value) : "l"(p));
    return value;
}
#define LOAD_VALUE(p) load_value(p)
#elif LOAD == 1
inline float load_value(global const float* p) {
    float value;
    asm(PTX_LOAD ".f32 %0, [%1];" : "=f"(value) : "l"(p));
    return value;
}
#define LOAD_VALUE(p) load_value(p)
#elif HALF
#define LOAD_VALUE(p) ((REAL)vload_half(0, p))
#else
#define LOAD_VALUE(p) (*(p))
#endif

#if WIDTH == 1
#define LOAD_VALUES(p) LOAD_VALUE(p)
#define LOAD_ALIGNED(p) LOAD_VALUE(p)
#elif HALF
#define LOAD_VALUES(p) PASTE(convert_, REALV)(PASTE(vload_half, WIDTH)(0, p))
#if HALF_BY_PTX && WIDTH <= 8
inline REALV load_aligned(global const half* p) {
    uint bits[WIDTH / 2];
#if WIDTH == 2
    asm(PTX_LOAD ".u32 %0, [%1];" : "=r"(bits[0]) : "l"(p));
#elif WIDTH == 4
    asm(PTX_LOAD ".v2.u32 {%0, %1}, [%2];" : "=r"(bits[0]), "=r"(bits[1]) : "l"(p));
#else
    asm(PTX_LOAD ".v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(bits[0]), "=r"(bits[1]), "=r"(bits[2]), "=r"(bits[3]) : "l"(p));
#endif
    REAL lanes[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) lanes[i] = of_half((ushort)(bits[i / 2] >> (i % 2 * 16)));
    return VLOAD(lanes);
}
#define LOAD_ALIGNED(p) load_aligned(p)
#else
#define LOAD_ALIGNED(p) PASTE(convert_, REALV)(PASTE(vloada_half, WIDTH)(0, p))
#endif
#else
#define LOAD_VALUES(p) VLOAD(p)
#if LOAD == 1
inline REALV load_aligned(global const REAL* p) {
    REAL lanes[WIDTH];
#if !defined(REAL_IS_DOUBLE) && WIDTH == 2
    asm(PTX_LOAD ".v2.f32 {%0, %1}, [%2];" : "=f"(lanes[0]), "=f"(lanes[1]) : "l"(p));
#elif !defined(REAL_IS_DOUBLE)
#pragma unroll
    for (int i = 0; i < WIDTH; i += 4)
        asm(PTX_LOAD ".v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(lanes[i]), "=f"(lanes[i + 1]), "=f"(lanes[i + 2]), "=f"(lanes[i + 3])
            : "l"(p + i));
#else
#pragma unroll
    for (int i = 0; i < WIDTH; i += 2)
        asm(PTX_LOAD ".v2.f64 {%0, %1}, [%2];" : "=d"(lanes[i]), "=d"(lanes[i + 1]) : "l"(p + i));
#endif
    return VLOAD(lanes);
}
#define LOAD_ALIGNED(p) load_aligned(p)
#else
#define LOAD_ALIGNED(p) (*(global const REALV*)(p))
#endif
#endif
