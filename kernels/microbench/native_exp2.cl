// Powers of two at the device's own accuracy.
#define SPECIAL microbench_native_exp2
#define STEP_OF(x) (native_exp2(-(x)) + z)
#include "common/special.cl"
