// CHAINS recurrences a work-item, WIDTH lanes each, STEPS steps of each a trip: no two chains wait for each other. Values and
// coefficients come from the source's first STARTS elements, another selection for each of as many work-items.
#include "microbench/include/microbench.cl"
#ifndef CHAINS
#define CHAINS 1
#endif
#define STEPS 16
#define STARTS 16
#define START(i) LOAD_ELEMENT(from, ((uint)get_global_id(0) + (i)) % (uint)min(count, (long)STARTS))

// Runs `STEP` on every chain `c`, trip after trip.
#define RUN_CHAINS(STEP)                                                     \
    for (int trip = 0; trip < trips; ++trip) {                               \
        _Pragma("unroll") for (int s = 0; s < STEPS; ++s) {                  \
            _Pragma("unroll") for (int c = 0; c < CHAINS; ++c) { STEP; }     \
        }                                                                    \
    }
