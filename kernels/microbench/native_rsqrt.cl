// Reciprocal square roots at the device's own accuracy.
#define SPECIAL microbench_native_rsqrt
#define STEP_OF(x) (native_rsqrt(x) + z)
#include "common/special.cl"
