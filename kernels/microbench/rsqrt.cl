// Reciprocal square roots at the standard's accuracy.
#define SPECIAL microbench_rsqrt
#define STEP_OF(x) (rsqrt(x) + z)
#include "common/special.cl"
