// For CPUs and A = A^T, upper diagonals only, in slices: each of ITEMS work-items owns a run of rows, adds entry o of row i to row i and,
// from the same load, to row i + o. What lower rows owe to its first rows it computes anew: no atomics. y holds the sums meanwhile.
#include "spmv/include/dia.cl"

// y[i] += a[i] x[i] for i < count, tails one by one. Separate passes for the two sides: in one, a row stored through one pointer is
// soon loaded through the other at another alignment, and the load waits for the store.
inline void add_product(global REAL* y, global const VALUE* a, global const REAL* x, const INDEX count) {
    INDEX i = 0;
    for (; i + WIDTH <= count; i += WIDTH) VSTORE(fma(LOAD_VALUES(a + i), VLOAD(x + i), VLOAD(y + i)), y + i);
    for (; i < count; ++i) y[i] = fma(LOAD_VALUE(a + i), x[i], y[i]);
}

// The same for four diagonals, SLICE values apart: y is loaded and stored once.
inline void add_four_products(global REAL* y, global const VALUE* a, global const REAL* x0, global const REAL* x1,
                              global const REAL* x2, global const REAL* x3, const INDEX count) {
    INDEX i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        REALV sum = fma(LOAD_VALUES(a + i), VLOAD(x0 + i), VLOAD(y + i));
        sum = fma(LOAD_VALUES(a + SLICE + i), VLOAD(x1 + i), sum);
        sum = fma(LOAD_VALUES(a + 2 * SLICE + i), VLOAD(x2 + i), sum);
        VSTORE(fma(LOAD_VALUES(a + 3 * SLICE + i), VLOAD(x3 + i), sum), y + i);
    }
    for (; i < count; ++i) {
        REAL sum = fma(LOAD_VALUE(a + i), x0[i], y[i]);
        sum = fma(LOAD_VALUE(a + SLICE + i), x1[i], sum);
        sum = fma(LOAD_VALUE(a + 2 * SLICE + i), x2[i], sum);
        y[i] = fma(LOAD_VALUE(a + 3 * SLICE + i), x3[i], sum);
    }
}

// The mirrored side of four neighbouring diagonals: y[i + d] += a_d[i] x[i] for i < count and i + d < room, by targets, so that y is loaded
// and stored once and no load waits for a store at another alignment.
inline void add_four_mirrored(global REAL* y, global const VALUE* a, global const REAL* x, const INDEX count, const INDEX room) {
    const INDEX joint = min(count, room) - 3;  // targets 3 .. 3 + joint have all four
    INDEX i = 0;
    for (; i + WIDTH <= joint; i += WIDTH) {
        REALV sum = fma(LOAD_VALUES(a + i + 3), VLOAD(x + i + 3), VLOAD(y + 3 + i));
        sum = fma(LOAD_VALUES(a + SLICE + i + 2), VLOAD(x + i + 2), sum);
        sum = fma(LOAD_VALUES(a + 2 * SLICE + i + 1), VLOAD(x + i + 1), sum);
        VSTORE(fma(LOAD_VALUES(a + 3 * SLICE + i), VLOAD(x + i), sum), y + 3 + i);
    }
    for (int d = 0; d < 4; ++d) {
        for (INDEX j = 0; j < 3 - d; ++j) y[j + d] = fma(LOAD_VALUE(a + d * SLICE + j), x[j], y[j + d]);
        for (INDEX j = i + 3 - d; j < min(count, room - d); ++j) y[j + d] = fma(LOAD_VALUE(a + d * SLICE + j), x[j], y[j + d]);
    }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1))) void spmv_symmetric_sliced(DIA_ARGUMENTS) {
    const long slices = ((long)rows + SLICE - 1) / SLICE;
    const long first = slices * (long)get_global_id(0) / ITEMS, last = slices * ((long)get_global_id(0) + 1) / ITEMS;
    const INDEX begin = (INDEX)(first * SLICE), end = (INDEX)min((long)rows, last * SLICE);
    if (begin >= end) return;
    INDEX zeroed = begin;
    const INDEX reach = diags > 0 ? offsets[diags - 1] : 0;

    for (; zeroed < min(end, begin + reach); ++zeroed) y[zeroed] = 0;
    for (int k = 0; k < diags; ++k) {
        const INDEX o = offsets[k];
        const INDEX until = min(begin, end - o);
        for (INDEX j = max((INDEX)0, begin - o); j < until;) {
            const long slice = j / SLICE;
            const INDEX next = min(until, (INDEX)((slice + 1) * SLICE));
            add_product(y + (j + o), val + (slice * diags + k) * SLICE + j % SLICE, x + j, next - j);
            j = next;
        }
    }
    for (long slice = first; slice < last; ++slice) {
        const INDEX row = (INDEX)(slice * SLICE), count = min((INDEX)SLICE, (INDEX)(rows - row));
        for (const INDEX until = (INDEX)min((long)end, (long)row + SLICE + reach); zeroed < until; ++zeroed) y[zeroed] = 0;
        global const VALUE* entry = val + slice * diags * SLICE;
        int k = 0;
        // Offsets ascend: from the first that leaves the matrix on, rows are fewer, then none.
        for (; k + 4 <= diags && count <= rows - row - offsets[k + 3]; k += 4)
            add_four_products(y + row, entry + (long)k * SLICE, x + row + offsets[k], x + row + offsets[k + 1], x + row + offsets[k + 2],
                              x + row + offsets[k + 3], count);
        for (; k < diags; ++k)
            add_product(y + row, entry + (long)k * SLICE, x + row + offsets[k], min(count, (INDEX)(rows - row - offsets[k])));
        for (k = diags > 0 && offsets[0] == 0; k < diags;) {
            const INDEX o = offsets[k], room = (INDEX)(end - row - o);
            global const VALUE* a = entry + (long)k * SLICE;
            if (k + 4 <= diags && offsets[k + 3] == o + 3 && min(count, room) > 3 + WIDTH) {
                add_four_mirrored(y + row + o, a, x + row, count, room);
                k += 4;
            } else {
                add_product(y + row + o, a, x + row, min(count, room));
                ++k;
            }
        }
        // No later row reaches back here: o > 0.
        if (alpha != 1 || beta != 0)
            for (INDEX i = row; i < row + count; ++i) DIA_STORE(i, y[i]);
    }
}
