// Reciprocals at the device's own accuracy.
#define SPECIAL microbench_native_recip
#define STEP_OF(x) (native_recip(x) + z)
#include "common/special.cl"
