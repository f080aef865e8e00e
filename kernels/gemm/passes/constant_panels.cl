// Panels of op(A) for the constant buffer, into D: TILES tiles of HEIGHT rows and DEPTH columns each, every tile by columns; zeros
// beyond the edges. Panels that share their rows follow one another.
#include "gemm/include/gemm.cl"

#ifndef TILES
#define TILES 1
#define HEIGHT 16
#define DEPTH 128
#endif

kernel void gemm_constant_panels(GEMM_ARGUMENTS) {
    GEMM_BATCH
    const long at = get_global_id(0), across = (K + DEPTH - 1) / DEPTH, panel = at / (TILES * DEPTH * HEIGHT);
    const int within = at % (TILES * DEPTH * HEIGHT);
    const long m = (panel / across * TILES + within / (DEPTH * HEIGHT)) * HEIGHT + within % HEIGHT;
    const long k = panel % across * DEPTH + within / HEIGHT % DEPTH;
    if (at < batch_d) D[at] = m < M && k < K ? A_AT(m, k) : 0;
}
