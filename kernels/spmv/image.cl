// Four rows a work-item; x in an RGBA float image 2^x_origin pixels wide, read by the sampler, which gives zeros outside: an unaligned
// group of four is two pixels and a swizzle. Spends texture fetches instead of global loads. Catanzaro 2010, fifth kernel.
#define DIA_VECTOR read_only image2d_t x
#include "spmv/include/four_rows.cl"
#include "spmv/include/staged_offsets.cl"

constant sampler_t outside_is_zero = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

inline float4 pixel_of(read_only image2d_t x, const int pixel, const int log_width) {
    // A shift of a negative pixel keeps its sign: row -1 lies outside the image.
    return read_imagef(x, outside_is_zero, (int2)(pixel & ((1 << log_width) - 1), pixel >> log_width));
}

inline float4 four_of_image(read_only image2d_t x, const INDEX col, const int log_width) {
    const int pixel = (int)(col >> 2), shift = (int)(col & 3);
    const float4 a = pixel_of(x, pixel, log_width);
    if (shift == 0) return a;
    const float4 b = pixel_of(x, pixel + 1, log_width);
    return shift == 1 ? (float4)(a.yzw, b.x) : shift == 2 ? (float4)(a.zw, b.xy) : (float4)(a.w, b.xyz);
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_image(DIA_ARGUMENTS) {
    local INDEX local_offsets[OFFSET_BLOCK];
    const INDEX row = (INDEX)get_global_id(0) * 4;
    float4 sum = (float4)(0);
    global const REAL* entry = val + row;
    for (int first = 0; first < diags; first += OFFSET_BLOCK) {
        STAGE_OFFSETS(first)
        if (row >= rows) continue;
        const int count = min(OFFSET_BLOCK, diags - first);
        for (int k = 0; k < count; ++k) {
            sum = fma(convert_float4(vload4(0, entry)), four_of_image(x, row + local_offsets[k], (int)x_origin), sum);
            entry += pitch;
        }
    }
    DIA_STORE_FOUR(row, sum);
}
