// op(A), M x K, as PARTS short numbers a number, into D in the tensor cores' order, tiles of TILE rows; zeros beyond the edges. notes[faults]
// gets 1 for what is no finite number, or becomes none, and 2 for a number too small beside its row's largest to leave a trace.
#include "gemm/include/parts.cl"

#ifndef TILE
#define TILE 128
#endif

inline uint rounded(const float x) {
#if TYPE == 0
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#elif TYPE == 1
    ushort bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    uint bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
#endif
}
inline float value_of(const uint bits) {
#if TYPE == 0
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((ushort)bits));
    return x;
#elif TYPE == 1
    return as_float(bits << 16);
#else
    return as_float(bits);
#endif
}

kernel __attribute__((reqd_work_group_size(256, 1, 1))) void gemm_split(GEMM_ARGUMENTS, global int *restrict notes,
                                                                        const long largest_step, const long largest_from,
                                                                        const int planes, const long faults) {
    GEMM_BATCH
    const int item = get_local_id(0);
#if TRANSPOSE_A  // neighbours are rows
    const int across = (M + TILE - 1) / TILE * TILE / 64, group = get_group_id(0);
    const int m = group % across * 64 + item % 64, plane = group / across * 4 + item / 64;
#else  // neighbours are planes, four at a time
    const int across = (planes + 3) / 4, group = get_group_id(0);
    const int m = group / across * 64 + item / 4, plane = group % across * 4 + item % 4;
#endif
    if (plane >= planes) return;
    const int k0 = plane * PER;
    float x[PER];
#if !TRANSPOSE_A && ALIGNED_A
    if (m < M && k0 + PER <= K) {
#pragma unroll
        for (int i = 0; i < PER; i += 4) {
            const float4 four = *(const global float4 *)&A_AT(m, k0 + i);
            x[i] = four.x;
            x[i + 1] = four.y;
            x[i + 2] = four.z;
            x[i + 3] = four.w;
        }
    } else
#endif
#pragma unroll
        for (int i = 0; i < PER; ++i) x[i] = m < M && k0 + i < K ? A_AT(m, k0 + i) : 0;
    int fault = 0;
#if TYPE == 0
    const global int *largest = notes + largest_from + (long)get_group_id(2) * largest_step;
    const int by = m < M ? -SCALED_BY(largest[m]) : 0;
#endif
#pragma unroll
    for (int i = 0; i < PER; ++i) {
#if TYPE == 0
        const bool something = x[i] != 0;
        x[i] = ldexp(x[i], by);
        if (something && fabs(x[i]) <= 0x1p-25f) fault |= 2;
#endif
        if (!isfinite(x[i]) || !isfinite(value_of(rounded(x[i])))) fault |= 1;
    }
    if (fault) atomic_or(&notes[faults], fault);
    global uint4 *to = (global uint4 *)D + ((size_t)(m / TILE) * planes + plane) * PARTS * TILE + m % TILE;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
        uint bits[PER];
#pragma unroll
        for (int i = 0; i < PER; ++i) {
            bits[i] = rounded(x[i]);
            x[i] -= value_of(bits[i]);
        }
#if TYPE == 2
        to[part * TILE] = (uint4)(bits[0], bits[1], bits[2], bits[3]);
#else
        to[part * TILE] = (uint4)(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16, bits[6] | bits[7] << 16);
#endif
    }
}
