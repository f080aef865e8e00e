// A strided vector copied to another place: x into its padded home, a column of X out of its matrix, a column of Y into it.
#include "common/real.cl"

kernel void spmv_pack(global const REAL* restrict from, const long from_origin, const long from_stride, global REAL* restrict to,
                      const long to_origin, const long to_stride, const long count) {
    const long i = (long)get_global_id(0);
    if (i < count) to[to_origin + i * to_stride] = from[from_origin + i * from_stride];
}
