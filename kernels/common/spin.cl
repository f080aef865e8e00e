// Takes time and does nothing else: each step waits for the one before.
kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spin(global uint *state, const uint steps) {
    uint x = *state;
    for (uint i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
    *state = x;
}
