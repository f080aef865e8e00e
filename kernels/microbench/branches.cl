// Each trip a work-item takes one of PATHS paths, LENGTH dependent multiply-adds whichever it is: 64 neighbours the same path or, with
// DIVERGENT, neighbours different ones, which wait for each other where they share a program counter: Daga 2011, II.B and II.C. PATHS=1
// has no branch. A path is a loop of its own over operations of its own, and no compiler knows how often it runs: none can merge paths or
// compute all and select. The first path comes from memory, the others follow it: none can move the choice out of the loop. Loses 32-fold
// at worst on 32 lanes; costs code, of which caches hold only some.
#include "microbench/include/microbench.cl"
#define STEPS 16  // of a path, time after time
#define CHOICES 32  // scalars that say a first path; as many starts and coefficients follow

#define STEP(path, s) x = (path) >> (s) % 5 & 1 ? fma(-x, y, w) : fma(x, y, z);
#define FOUR_STEPS(path, s) STEP(path, s) STEP(path, s + 1) STEP(path, s + 2) STEP(path, s + 3)
#define CASE(path)                                                                                         \
    case path:                                                                                             \
        _Pragma("unroll 1") for (int time = 0; time < times; ++time) {                                     \
            FOUR_STEPS(path, 0) FOUR_STEPS(path, 4) FOUR_STEPS(path, 8) FOUR_STEPS(path, 12)               \
        }                                                                                                  \
        break;
#define CASES_1(path) CASE(path)
#define CASES_2(path) CASES_1(path) CASES_1(path + 1)
#define CASES_4(path) CASES_2(path) CASES_2(path + 2)
#define CASES_8(path) CASES_4(path) CASES_4(path + 4)
#define CASES_16(path) CASES_8(path) CASES_8(path + 8)
#define CASES_32(path) CASES_16(path) CASES_16(path + 16)

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void microbench_branches(MICROBENCH_ARGUMENTS(FROM_GLOBAL)) {
    const uint item = get_global_id(0);
    global const REAL* values = from + CHOICES;
    REAL x = values[item % CHOICES];
    const REAL y = values[(item + 1) % CHOICES], z = 1 - values[(item + 2) % CHOICES], w = 1 + values[(item + 2) % CHOICES];
    const int first = (int)from[(DIVERGENT ? item : item / 64) % CHOICES];
    const int times = LENGTH / STEPS + (store >> 1);  // `store` is 0 or 1, which only the run knows
    for (int trip = 0; trip < trips; ++trip) {
        switch ((first + trip) & (PATHS - 1)) { PASTE(CASES_, PATHS)(0) }
    }
    to[item] = x;
}
