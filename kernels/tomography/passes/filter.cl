// Filters rows: two of them are the real and the imaginary part of one complex row, since the taps are real. In a single kernel: weights,
// the row's largest value, a Fourier transform in local memory, the response, the transform back.
//
// Stockham's transform: ITEMS work-items hold E elements each. Before and after each pass element `item + ITEMS * m` is the item's m-th, so
// that spectra stay where they are. N = ITEMS * E is the product of the passes' radices, each of which divides E.
#ifndef N
#define N 64
#define E 16
#define PAIRS 1
#define PASSES 2
#define RADIX0 16
#define RADIX1 4
#endif
#define ITEMS (N / E)
#ifndef IN_TURN
#define IN_TURN 0 // 1: real and imaginary parts pass through the same local memory, one after the other
#endif
#ifndef SPREAD
#define SPREAD 1 // 1: a gap after each 32 elements, against bank conflicts
#endif
#define PLANE (N + SPREAD * (N / 32))
#define AT(index) ((index) + SPREAD * ((index) >> 5))
#define ROOT_PARTS 48

// exp(-2 pi i n / 48)
constant float2 part_of_turn[28] = {
    (float2)(1.0f, 0.0f),
    (float2)(0.9914448613738104f, -0.13052619222005157f),
    (float2)(0.9659258262890683f, -0.25881904510252074f),
    (float2)(0.9238795325112867f, -0.3826834323650898f),
    (float2)(0.8660254037844387f, -0.5f),
    (float2)(0.7933533402912352f, -0.6087614290087207f),
    (float2)(0.7071067811865476f, -0.7071067811865475f),
    (float2)(0.6087614290087207f, -0.7933533402912352f),
    (float2)(0.5f, -0.8660254037844386f),
    (float2)(0.38268343236508984f, -0.9238795325112867f),
    (float2)(0.25881904510252074f, -0.9659258262890683f),
    (float2)(0.1305261922200517f, -0.9914448613738104f),
    (float2)(0.0f, -1.0f),
    (float2)(-0.1305261922200516f, -0.9914448613738104f),
    (float2)(-0.25881904510252063f, -0.9659258262890683f),
    (float2)(-0.3826834323650897f, -0.9238795325112867f),
    (float2)(-0.5f, -0.8660254037844387f),
    (float2)(-0.6087614290087207f, -0.7933533402912352f),
    (float2)(-0.7071067811865475f, -0.7071067811865476f),
    (float2)(-0.7933533402912352f, -0.6087614290087209f),
    (float2)(-0.8660254037844387f, -0.5f),
    (float2)(-0.9238795325112867f, -0.3826834323650899f),
    (float2)(-0.9659258262890682f, -0.25881904510252102f),
    (float2)(-0.9914448613738104f, -0.1305261922200519f),
    (float2)(-1.0f, 0.0f),
    (float2)(-0.9914448613738104f, 0.13052619222005157f),
    (float2)(-0.9659258262890683f, 0.2588190451025208f),
    (float2)(-0.9238795325112868f, 0.38268343236508967f),
};

inline float2 times(const float2 a, const float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// Transforms of 2, 3 and 4 elements that lie `step` apart.
inline void transform_few(float2 *x, const int step, const int count) {
    if (count == 2) {
        const float2 a = x[0], b = x[step];
        x[0] = a + b;
        x[step] = a - b;
    } else if (count == 3) {
        const float2 sum = x[step] + x[2 * step], middle = x[0] - 0.5f * sum, d = 0.8660254037844386f * (x[step] - x[2 * step]);
        const float2 turned = (float2)(d.y, -d.x);
        x[0] += sum;
        x[step] = middle + turned;
        x[2 * step] = middle - turned;
    } else {
        const float2 a = x[0] + x[2 * step], b = x[0] - x[2 * step], c = x[step] + x[3 * step], d = x[step] - x[3 * step];
        const float2 turned = (float2)(d.y, -d.x);
        x[0] = a + c;
        x[step] = b + turned;
        x[2 * step] = a - c;
        x[3 * step] = b - turned;
    }
}

// Of one * other elements side by side, in order.
inline void transform_product(float2 *x, const int one, const int other) {
    float2 found[16];
#pragma unroll
    for (int n = 0; n < other; ++n) {
        transform_few(x + n, other, one);
#pragma unroll
        for (int k = 1; k < one; ++k)
            if (n > 0) x[k * other + n] = times(x[k * other + n], part_of_turn[n * k * (ROOT_PARTS / (one * other))]);
    }
#pragma unroll
    for (int k = 0; k < one; ++k) {
        transform_few(x + k * other, 1, other);
#pragma unroll
        for (int m = 0; m < other; ++m) found[k + one * m] = x[k * other + m];
    }
#pragma unroll
    for (int r = 0; r < one * other; ++r) x[r] = found[r];
}

// `before` is the product of the radices of the passes before; `roots`, exp(-2 pi i q (j % before) / (before radix)), lie by q from 1 on.
inline void pass(float2 *v, const int item, const int radix, const int before, global const float2 *roots) {
    const int each = E / radix;
#pragma unroll
    for (int b = 0; b < each; ++b) {
        float2 x[16];
        const int place = (item + b * ITEMS) % before;
#pragma unroll
        for (int q = 0; q < radix; ++q) {
            x[q] = v[b + q * each];
            if (q > 0 && before > 1) x[q] = times(x[q], roots[(q - 1) * before + place]);
        }
        if (radix == 16) transform_product(x, 4, 4);
        else if (radix == 12) transform_product(x, 4, 3);
        else if (radix == 8) transform_product(x, 2, 4);
        else if (radix == 6) transform_product(x, 2, 3);
        else transform_few(x, 1, radix);
#pragma unroll
        for (int q = 0; q < radix; ++q) v[b + q * each] = x[q];
    }
}

inline int place_after(const int item, const int radix, const int before, const int m) {
    const int each = E / radix, j = item + m % each * ITEMS;
    return AT(j / before * before * radix + j % before + m / each * before);
}

// From where a pass left its results to where the next one reads them.
inline void exchange(float2 *v, const int item, const int radix, const int before, local float *plane) {
    barrier(CLK_LOCAL_MEM_FENCE);
#if IN_TURN
#pragma unroll
    for (int m = 0; m < E; ++m) plane[place_after(item, radix, before, m)] = v[m].x;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int m = 0; m < E; ++m) v[m].x = plane[AT(item + ITEMS * m)];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int m = 0; m < E; ++m) plane[place_after(item, radix, before, m)] = v[m].y;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int m = 0; m < E; ++m) v[m].y = plane[AT(item + ITEMS * m)];
#else
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const int place = place_after(item, radix, before, m);
        plane[place] = v[m].x;
        plane[PLANE + place] = v[m].y;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int m = 0; m < E; ++m) v[m] = (float2)(plane[AT(item + ITEMS * m)], plane[PLANE + AT(item + ITEMS * m)]);
#endif
}

inline void transform(float2 *v, const int item, global const float2 *roots, local float *plane) {
    pass(v, item, RADIX0, 1, roots);
#if PASSES > 1
    exchange(v, item, RADIX0, 1, plane);
    pass(v, item, RADIX1, RADIX0, roots);
#endif
#if PASSES > 2
    roots += (RADIX1 - 1) * RADIX0;
    exchange(v, item, RADIX1, RADIX0, plane);
    pass(v, item, RADIX2, RADIX0 * RADIX1, roots);
#endif
#if PASSES > 3
    roots += (RADIX2 - 1) * RADIX0 * RADIX1;
    exchange(v, item, RADIX2, RADIX0 * RADIX1, plane);
    pass(v, item, RADIX3, RADIX0 * RADIX1 * RADIX2, roots);
#endif
#if PASSES > 4
    roots += (RADIX3 - 1) * RADIX0 * RADIX1 * RADIX2;
    exchange(v, item, RADIX3, RADIX0 * RADIX1 * RADIX2, plane);
    pass(v, item, RADIX4, RADIX0 * RADIX1 * RADIX2 * RADIX3, roots);
#endif
}

// The largest of the items' values; item 0 has it afterwards.
#define FEW 16
inline float largest(const float mine, const int item, local float *plane) {
    float found = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    plane[item] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < FEW) {
        for (int other = item + FEW; other < ITEMS; other += FEW) found = fmax(found, plane[other]);
        plane[item] = found;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        for (int other = 1; other < (ITEMS < FEW ? ITEMS : FEW); ++other) found = fmax(found, plane[other]);
    return found;
}

// By its bits: compilers that may ignore NaN would ignore it.
inline bool is_large(const float value) { return (as_uint(value) & 0x7fffffffu) > as_uint(1e15f); }

// Row g of `count`, row g % rows of the view g / rows. Its pixel at a column lies at origin + view * view_step + row * row_step + column *
// column_step; its result is `wide` long, with `lead` columns before the first pixel that count as 0. `facts` of a row: its largest value,
// the first, the last, and 1 where one is beyond 1e15, infinite or NaN. The result may overwrite the input where it lies in the same order.
kernel __attribute__((reqd_work_group_size(ITEMS *PAIRS, 1, 1))) void
tomography_filter(global const float *in, global float *out, global float4 *facts, global const float *weights, global const float *slants,
                  global const float *response, global const float2 *roots, const int rows, const int columns, const int wide, const int lead,
                  const long count, const long origin, const long view_step, const long row_step, const int column_step,
                  const int weights_view, const int weights_column, const int slants_row, const int slants_column) {
    local float planes[PAIRS * PLANE * (IN_TURN ? 1 : 2)];
    const int item = get_local_id(0) % ITEMS, slot = get_local_id(0) / ITEMS;
    local float *plane = planes + slot * PLANE * (IN_TURN ? 1 : 2);
    const long first = 2 * ((long)get_group_id(0) * PAIRS + slot);
    float2 v[E];
    float most[2], large[2] = {0, 0};
#pragma unroll
    for (int which = 0; which < 2; ++which) {
        const long g = first + which, view = g / rows, row = g % rows;
        const bool there = g < count;
        global const float *from = in + (there ? origin + view * view_step + row * row_step : 0);
        global const float *weight = weights + (there ? view * weights_view : 0);
        global const float *slant = slants + (there ? row * slants_row : 0);
        most[which] = -INFINITY;
#pragma unroll
        for (int m = 0; m < E; ++m) {
            const int column = item + ITEMS * m - lead;
            float value = 0;
            if (there && column >= 0 && column < columns) {
                value = from[(long)column * column_step];
                most[which] = fmax(most[which], value);
                if (is_large(value)) large[which] = 1;
                if (column == 0) facts[g].y = value;
                if (column == columns - 1) facts[g].z = value;
                value *= weight[column * weights_column] * slant[column * slants_column];
            }
            if (which == 0) v[m].x = value;
            else v[m].y = value;
        }
    }
#pragma unroll
    for (int which = 0; which < 2; ++which) {
        const float top = largest(most[which], item, plane), some = largest(large[which], item, plane);
        if (item == 0 && first + which < count) {
            facts[first + which].x = top;
            facts[first + which].w = some;
        }
    }
    transform(v, item, roots, plane);
    // The inverse is the transform with real and imaginary part exchanged, before and after.
#pragma unroll
    for (int m = 0; m < E; ++m) v[m] = v[m].yx * response[item + ITEMS * m];
    transform(v, item, roots, plane);
#pragma unroll
    for (int m = 0; m < E; ++m) {
        const int column = item + ITEMS * m;
        if (column < wide) {
            if (first < count) out[first * wide + column] = v[m].y;
            if (first + 1 < count) out[(first + 1) * wide + column] = v[m].x;
        }
    }
}
