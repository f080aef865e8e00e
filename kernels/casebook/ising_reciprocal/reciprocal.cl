// As quotients, but both quotients are products with one reciprocal.
// A group of GROUP items is named to the compiler, so that their registers fit: NVIDIA's gives each as many as 256
// allow.
#define FITTING __attribute__((reqd_work_group_size(GROUP, 1, 1)))
int next(const int r) { return (int)(1664525u * (uint)r + 1013904223u); }

int neighbours(global const int* s, const int row, const int column, const int n) {
    const int up = (row ? row : n) - 1, down = row + 1 < n ? row + 1 : 0;
    const int left = (column ? column : n) - 1, right = column + 1 < n ? column + 1 : 0;
    return s[up * n + column] + s[down * n + column] + s[row * n + left] + s[row * n + right];
}

int update(global int* s, int r, const int row, const int column, const int n, const float t) {
    const float exp_4 = exp(-(1.0 / t) * 4.0);
    const float exp_8 = exp(-(1.0 / t) * 8.0);
    const int spin = s[row * n + column];
    const int dH = 2 * spin * neighbours(s, row, column, n);
    r = next(r);
    if (dH <= 0 || fabs(r * 4.656612e-10) < (dH == 4 ? exp_4 : exp_8)) s[row * n + column] = -spin;
    return r;
}

FITTING kernel void ising_black(global int* s, global int* r, const int n, const float t) {
    const int row = 2 * get_group_id(0), column = 2 * get_local_id(0), item = get_global_id(0);
    const int drawn = update(s, r[item], row, column, n, t);
    r[item] = update(s, drawn, row + 1, column + 1, n, t);
}

FITTING kernel void ising_white(global int* s, global int* r, global int* energy, local int* parts, const int n,
                                const float t) {
    const int row = 2 * get_group_id(0), column = 2 * get_local_id(0), item = get_global_id(0);
    const int drawn = update(s, r[item], row, column + 1, n, t);
    r[item] = update(s, drawn, row + 1, column, n, t);
    parts[get_local_id(0)] = -s[row * n + column + 1] * neighbours(s, row, column + 1, n) -
                             s[(row + 1) * n + column] * neighbours(s, row + 1, column, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int left = get_local_size(0); left > 1; left = (left + 1) / 2) {
        const int other = get_local_id(0) + (left + 1) / 2;
        if (other < left) parts[get_local_id(0)] += parts[other];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (get_local_id(0) == 0) energy[get_group_id(0)] = parts[0];
}
