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
inline REAL load_value(global const half* p) {
    ushort bits;
    float value;
    asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(bits) : "l"(p));
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return (REAL)value;
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

#if WIDTH == 1
#define LOAD_VALUES(p) load_value(p)
#elif LOAD == 1 && WIDTH == 4 && !HALF && !defined(REAL_IS_DOUBLE)
inline float4 load_values(global const float* p) {
    float4 v;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}
#define LOAD_VALUES(p) load_values(p)
#elif LOAD == 1
inline REALV load_values(global const VALUE* p) {
    REAL lanes[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; ++i) lanes[i] = load_value(p + i);
    return VLOAD(lanes);
}
#define LOAD_VALUES(p) load_values(p)
#elif HALF && defined(REAL_IS_DOUBLE)
#define LOAD_VALUES(p) PASTE(convert_, REALV)(PASTE(vload_half, WIDTH)(0, p))
#elif HALF
#define LOAD_VALUES(p) PASTE(vload_half, WIDTH)(0, p)
#else
#define LOAD_VALUES(p) VLOAD(p)
#endif
