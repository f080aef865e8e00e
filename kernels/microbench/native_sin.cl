// Sines at the device's own accuracy; z from 1 to 2 keeps the argument below half a turn.
#define SPECIAL microbench_native_sin
#define STEP_OF(x) (native_sin(x) + z)
#include "common/special.cl"
