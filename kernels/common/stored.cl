// How stored values are read: VALUE is their type in memory, LOAD_VALUE(p) one, LOAD_VALUES(p) WIDTH of them, as REAL.
// HALF=1: 16 bits a value (storage only, no half arithmetic needed). LOAD=1: past the L1 cache, for values that are used once (PTX).
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

#if LOAD == 1 && HALF
inline REAL of_half(const ushort bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return (REAL)value;
}
inline REAL load_value(global const half* p) {
    ushort bits;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(p));
    return of_half(bits);
}
#elif LOAD == 1 && defined(REAL_IS_DOUBLE)
inline double load_value(global const double* p) {
    double value;
    asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(value) : "l"(p));
    return value;
}
#elif LOAD == 1
inline float load_value(global const float* p) {
    float value;
    asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(p));
    return value;
}
#elif HALF
#define load_value(p) ((REAL)vload_half(0, p))
#else
#define load_value(p) (*(p))
#endif
#define LOAD_VALUE(p) load_value(p)

// LOAD_VALUES(p) needs the alignment of one value, LOAD_ALIGNED(p) that of all WIDTH: one wide load where the device has it.
#if WIDTH == 1
#define LOAD_VALUES(p) load_value(p)
#define LOAD_ALIGNED(p) load_value(p)
#elif HALF
#define LOAD_VALUES(p) PASTE(convert_, REALV)(PASTE(vload_half, WIDTH)(0, p))
#define LOAD_ALIGNED(p) PASTE(convert_, REALV)(PASTE(vloada_half, WIDTH)(0, p))
#else
#define LOAD_VALUES(p) VLOAD(p)
#define LOAD_ALIGNED(p) (*(global const REALV*)(p))
#endif

#if LOAD == 1 && WIDTH > 1
#undef LOAD_ALIGNED
#define LOAD_ALIGNED(p) load_aligned(p)
#if HALF && WIDTH == 2
inline REAL2 load_aligned(global const half* p) {
    uint bits;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(bits) : "l"(p));
    return (REAL2)(of_half((ushort)bits), of_half((ushort)(bits >> 16)));
}
#elif HALF && WIDTH == 4
inline REAL4 load_aligned(global const half* p) {
    uint low, high;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(low), "=r"(high) : "l"(p));
    return (REAL4)(of_half((ushort)low), of_half((ushort)(low >> 16)), of_half((ushort)high), of_half((ushort)(high >> 16)));
}
#elif WIDTH == 2 && !defined(REAL_IS_DOUBLE)
inline float2 load_aligned(global const float* p) {
    float2 v;
    asm("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
    return v;
}
#elif WIDTH == 4 && !defined(REAL_IS_DOUBLE)
inline float4 load_aligned(global const float* p) {
    float4 v;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}
#else
inline REALV load_aligned(global const VALUE* p) {
    REAL lanes[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) lanes[i] = load_value(p + i);
    return VLOAD(lanes);
}
#endif
#endif
