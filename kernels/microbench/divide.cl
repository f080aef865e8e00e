// Divisions at the standard's accuracy.
#define SPECIAL microbench_divide
#define STEP_OF(x) (y / (x) + z)
#include "common/special.cl"
