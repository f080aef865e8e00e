// A band of neighbouring diagonals takes count + WIDTH - 1 neighbouring elements of x for WIDTH rows: a window, loaded by aligned vectors
// of QUAD elements, of which the first AHEAD lie before the band.
#include "spmv/include/dia.cl"

#if WIDTH < 4
#define QUAD WIDTH
#define QUADV REALV
#else
#define QUAD 4
#define QUADV REAL4
#endif
#define AHEAD(offset) ((offset) & (QUAD - 1))
#define QUADS(offset, count) ((AHEAD(offset) + (count) + WIDTH - 1 + QUAD - 1) / QUAD)

#if QUAD == 1
#define STORE_QUAD(v, p) (*(p) = (v))
#else
#define STORE_QUAD(v, p) PASTE(vstore, QUAD)(v, 0, p)
#endif

// sum[0 .. WIDTH) += the band's entries at `entry` times x, of which `from` is the element at the band's first offset; in `space`.
#define ADD_BAND(sum, entry, space, from, offset, count)                                                                              \
    {                                                                                                                                 \
        REAL window[QUADS(offset, count) * QUAD], a[(count) * WIDTH];                                                                 \
        _Pragma("unroll") for (int q_ = 0; q_ < QUADS(offset, count); ++q_)                                                           \
            STORE_QUAD(*(space const QUADV*)((from) - AHEAD(offset) + q_ * QUAD), window + q_ * QUAD);                                \
        _Pragma("unroll") for (int d_ = 0; d_ < (count); ++d_) VSTORE(LOAD_ALIGNED((entry) + d_ * STRIDE), a + d_ * WIDTH);           \
        _Pragma("unroll") for (int d_ = 0; d_ < (count); ++d_) _Pragma("unroll") for (int w_ = 0; w_ < WIDTH; ++w_)(sum)[w_] =        \
            fma(a[d_ * WIDTH + w_], window[AHEAD(offset) + d_ + w_], (sum)[w_]);                                                      \
    }
