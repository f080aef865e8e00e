// A vector into an RGBA float image 2^log_width pixels wide, four elements a pixel, zeros behind its end.
kernel void spmv_to_image(global const float* restrict from, const long count, write_only image2d_t to, const int log_width,
                          const long pixels) {
    const long pixel = (long)get_global_id(0), first = pixel * 4;
    if (pixel >= pixels) return;
    float4 v = (float4)(0);
    if (first + 3 < count) {
        v = vload4(0, from + first);
    } else {
        if (first < count) v.x = from[first];
        if (first + 1 < count) v.y = from[first + 1];
        if (first + 2 < count) v.z = from[first + 2];
    }
    write_imagef(to, (int2)((int)(pixel & ((1L << log_width) - 1)), (int)(pixel >> log_width)), v);
}
