// Four rows a work-item; x in an RGBA float image 2^x_origin pixels wide, read by the sampler, which gives zeros outside: an unaligned
// group of four is two pixels and a swizzle. Spends texture fetches instead of global loads. Catanzaro 2010, fifth listing.
#define RESTRICT
#define DIA_VECTOR read_only image2d_t x
#include "spmv/include/four_rows.cl"
#include "spmv/include/staged_offsets.cl"

constant sampler_t smp = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

// A shift of a negative pixel keeps its sign: row -1 lies outside the image.
#define PIXEL(at) read_imagef(vector, smp, (int2)((at) & width_mask, (at) >> log_vector_width))

inline float4 unaligned_read_from_image(read_only image2d_t vector, const int log_vector_width, const int width_mask, const INDEX col) {
    int alignment = (int)(col % 4);
    if (alignment < 0) alignment += 4;
    const int rgbcol = (int)(col >> 2);
    float4 v;
    if (alignment == 0) {
        v = PIXEL(rgbcol);
    } else if (alignment == 1) {
        const float4 v0 = PIXEL(rgbcol), v1 = PIXEL(rgbcol + 1);
        v.xyz = v0.yzw;
        v.w = v1.x;
    } else if (alignment == 2) {
        const float4 v0 = PIXEL(rgbcol), v1 = PIXEL(rgbcol + 1);
        v.xy = v0.zw;
        v.zw = v1.xy;
    } else {
        const float4 v0 = PIXEL(rgbcol), v1 = PIXEL(rgbcol + 1);
        v.x = v0.w;
        v.yzw = v1.xyz;
    }
    return v;
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void spmv_image(DIA_ARGUMENTS) {
    STAGE_OFFSETS
    const INDEX row = (INDEX)get_global_id(0) * 4;
    if (row >= rows) return;
    const int log_vector_width = (int)x_origin, width_mask = (1 << log_vector_width) - 1;
    float4 accumulator = (float4)(0);
    global const REAL* matrix_offset = val + row;
    for (int diag = 0; diag < diags; ++diag) {
        const float4 m = convert_float4(vload4(0, matrix_offset));
        const INDEX col = row + l_offsets[diag];
        const float4 v = unaligned_read_from_image(x, log_vector_width, width_mask, col);
        accumulator += m * v;
        matrix_offset += pitch;
    }
    store_four(y, addend, row, rows, PASTE(convert_, REAL4)(accumulator), alpha, beta);
}
