// Square roots at the standard's accuracy.
#define SPECIAL microbench_sqrt
#define STEP_OF(x) (sqrt(x) + z)
#include "common/special.cl"
