"""Honest kernels that sum, count and find: reductions, products, soft maxima, histograms, scans."""

from __future__ import annotations

import numpy as np

import own_kernels
from gpuopt import lab
from own_kernels import Honest


def two_stages() -> Honest:
    return Honest(own_kernels.SUM, own_kernels.total(), {"n": 20_001})


WEIGHTS = """
void add(volatile __global float* sum, float more) {
    union { uint bits; float value; } old, next;
    do {
        old.value = *sum;
        next.value = old.value + more;
    } while (atomic_cmpxchg((volatile __global uint*)sum, old.bits, next.bits) != old.bits);
}
__kernel void clear(__global float* sums) { sums[get_global_id(0)] = 0; }
__kernel void weigh(__global const uchar* kind, __global const float* x, __global float* sums, int n) {
    const int i = get_global_id(0);
    if (i < n) add(&sums[kind[i]], x[i]);
}
"""


def any_order() -> Honest:
    """Floats added by compare-and-swap, in an order that nobody knows."""

    def magnitude(kind: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.bincount(kind, weights=np.abs(x), minlength=16)

    kernel = lab.Kernel(
        WEIGHTS,
        "weights",
        arguments=[lab.input("kind", "n", "uint8", high=16), lab.input("x", "n"), lab.output("sums", 16),
                   lab.value("n")],
        stages=[lab.stage("clear", "sums", lab.launch(items=16, local=16)),
                lab.stage("weigh", "kind x sums n", lab.launch(items="n"))],
        reference=lambda kind, x: np.bincount(kind, weights=x, minlength=16),
        tolerance=lab.rounding(magnitude, "n"),
    )  # fmt: skip
    return Honest(WEIGHTS, kernel, {"n": 20_000}, repeatable=False)


LONG = """
__kernel void sums(__global const float* x, __global float* z, int rows, int columns) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += x[(size_t)row * columns + i];
    z[row] = sum;
}
"""


def long_sums(absolute: float | None = None) -> Honest:
    """One term after the other, which costs more than NumPy's sums in pairs: a judge must be told."""
    rounding = lab.rounding(lambda x: np.abs(x).sum(axis=1), "columns")
    kernel = lab.Kernel(
        LONG,
        "sums",
        arguments=[lab.input("x", ("rows", "columns")), lab.output("z", "rows"), lab.value("rows"),
                   lab.value("columns")],
        launch=lab.launch(items="rows", local=1),
        reference=lambda x: x.sum(axis=1),
        tolerance=rounding if absolute is None else absolute,
    )  # fmt: skip
    return Honest(LONG, kernel, {"rows": 5, "columns": 40_000})


HISTOGRAM = """
__kernel void clear(__global int* bins) { if (get_global_id(0) < BINS) bins[get_global_id(0)] = 0; }
__kernel void count(__global const uchar* x, __global int* bins, int n) {
    __local int own[BINS];
    for (int b = get_local_id(0); b < BINS; b += get_local_size(0)) own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&own[x[i] * BINS / 256]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = get_local_id(0); b < BINS; b += get_local_size(0)) atomic_add(&bins[b], own[b]);
}
"""


def histogram() -> Honest:
    """Atomic additions of whole numbers, in local and in global memory."""
    kernel = lab.Kernel(
        HISTOGRAM,
        "histogram",
        parameters={"BINS": [32]},
        arguments=[lab.input("x", "n", "uint8", high=256), lab.output("bins", 32, "int32"), lab.value("n")],
        stages=[
            lab.stage("clear", "bins", lab.launch(items="BINS", local=32)),
            lab.stage("count", "x bins n", lab.launch(groups=4, local=64)),
        ],
        reference=lambda x: np.bincount(x // 8, minlength=32),
    )
    return Honest(HISTOGRAM, kernel, {"n": 20_011})


DOTS = """
__kernel void dots(__global const char* a, __global const char* b, __global int* z, int rows, int k) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    int sum = 0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i];
    z[row] = sum;
}
"""


def byte_products() -> Honest:
    """Bytes with a sign, summed in 32 bits."""
    kernel = lab.Kernel(
        DOTS,
        "dots",
        arguments=[lab.input("a", ("rows", "k"), "int8", low=-128, high=128),
                   lab.input("b", "k", "int8", low=-128, high=128), lab.output("z", "rows", "int32"),
                   lab.value("rows"), lab.value("k")],
        launch=lab.launch(items="rows"),
        reference=lambda a, b: a.astype(np.int64) @ b.astype(np.int64),
    )  # fmt: skip
    return Honest(DOTS, kernel, {"rows": 150, "k": 77})


PRODUCT = """
__kernel void product(__global const float* a, __global const float* b, __global float* c, int m, int n, int k) {
    __local float left[T][T], right[T][T];
    const int column = get_global_id(0), row = get_global_id(1), i = get_local_id(0), j = get_local_id(1);
    float sum = 0;
    for (int at = 0; at < k; at += T) {
        left[j][i] = row < m && at + i < k ? a[row * k + at + i] : 0;
        right[j][i] = at + j < k && column < n ? b[(at + j) * n + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < T; ++l) sum += left[j][l] * right[l][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
"""


def matrix_product() -> Honest:
    kernel = lab.Kernel(
        PRODUCT,
        "product",
        parameters={"T": [8, 16]},
        arguments=[lab.input("a", ("m", "k")), lab.input("b", ("k", "n")), lab.output("c", ("m", "n")),
                   lab.value("m"), lab.value("n"), lab.value("k")],
        launch=lab.launch(items=("n", "m"), local=("T", "T")),
        reference=lambda a, b: a @ b,
    )  # fmt: skip
    return Honest(PRODUCT, kernel, {"m": 45, "n": 53, "k": 70})


MATVEC = """
__kernel void matvec(__global const float* a, __global const float* x, __global float* y, __local float* held, int n) {
    const int row = get_group_id(0), l = get_local_id(0);
    float sum = 0;
    for (int i = l; i < n; i += get_local_size(0)) sum += a[row * n + i] * x[i];
    held[l] = sum;
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) held[l] += held[l + step];
    }
    if (l == 0) y[row] = held[0];
}
"""


def matrix_vector() -> Honest:
    """A row a work-group."""
    kernel = lab.Kernel(
        MATVEC,
        "matvec",
        parameters={"WG": [32, 64]},
        arguments=[lab.input("a", ("m", "n")), lab.input("x", "n"), lab.output("y", "m"),
                   lab.local("held", "4 * WG"), lab.value("n")],
        launch=lab.launch(groups="m", local="WG"),
        reference=lambda a, x: a @ x,
    )  # fmt: skip
    return Honest(MATVEC, kernel, {"m": 90, "n": 301})


SOFTMAX = """
__kernel void softmax(__global const float* x, __global float* z, int columns) {
    __local float held[64];
    __global const float* a = x + get_group_id(0) * columns;
    const int l = get_local_id(0);
    float top = -INFINITY, sum = 0;
    for (int i = l; i < columns; i += 64) top = fmax(top, a[i]);
    held[l] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 64; ++i) top = fmax(top, held[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < columns; i += 64) sum += exp(a[i] - top);
    held[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int i = 0; i < 64; ++i) sum += held[i];
    for (int i = l; i < columns; i += 64) z[get_group_id(0) * columns + i] = exp(a[i] - top) / sum;
}
"""


def soft_maximum(tolerance: float | None = None) -> Honest:
    def reference(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    shape = ("rows", "columns")
    kernel = lab.Kernel(
        SOFTMAX,
        "softmax",
        arguments=[lab.input("x", shape, low=-4.0, high=4.0), lab.output("z", shape), lab.value("columns")],
        launch=lab.launch(groups="rows", local=64),
        reference=reference,
        tolerance=tolerance,
    )
    return Honest(SOFTMAX, kernel, {"rows": 9, "columns": 1001})


LEAST = """
__kernel void least(__global const float* x, __global float* value, __global int* at, int rows, int columns) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    int found = 0;
    for (int i = 1; i < columns; ++i) if (x[row * columns + i] < x[row * columns + found]) found = i;
    value[row] = x[row * columns + found];
    at[row] = found;
}
"""


def least_of_rows() -> Honest:
    """Results of two types."""
    kernel = lab.Kernel(
        LEAST,
        "least",
        arguments=[lab.input("x", ("rows", "columns")), lab.output("value", "rows"), lab.output("at", "rows", "int32"),
                   lab.value("rows"), lab.value("columns")],
        launch=lab.launch(items="rows"),
        reference=lambda x: {"value": x.min(axis=1), "at": x.argmin(axis=1)},
    )  # fmt: skip
    return Honest(LEAST, kernel, {"rows": 120, "columns": 65})


SPARSE = """
__kernel void sparse(__global const int* first, __global const int* column, __global const float* a,
                     __global const float* x, __global float* y, int rows) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0;
    for (int k = first[row]; k < first[row + 1]; ++k) sum += a[k] * x[column[k]];
    y[row] = sum;
}
"""


def sparse_product() -> Honest:
    """A matrix of compressed rows, some of them empty."""
    rows = 400
    lengths = np.arange(rows) % 9

    def first(random: np.random.Generator) -> np.ndarray:
        return np.cumsum([0, *random.permutation(lengths)]).astype(np.int32)

    def reference(first: np.ndarray, column: np.ndarray, a: np.ndarray, x: np.ndarray) -> np.ndarray:
        terms = np.concatenate([[0], np.cumsum(a.astype(np.float64) * x[column])])
        return (terms[first[1:]] - terms[first[:-1]]).astype(x.dtype)

    kernel = lab.Kernel(
        SPARSE,
        "sparse",
        arguments=[lab.input("first", "rows + 1", "int32", data=first),
                   lab.input("column", "entries", "int32", low=0, high="columns"), lab.input("a", "entries"),
                   lab.input("x", "columns"), lab.output("y", "rows"), lab.value("rows")],
        launch=lab.launch(items="rows"),
        reference=reference,
    )  # fmt: skip
    return Honest(SPARSE, kernel, {"rows": rows, "entries": int(lengths.sum()), "columns": 300})


SCAN = """
__kernel void blocks(__global const int* x, __global int* z, __global int* sums, int n) {
    __local int held[WG];
    const int i = get_global_id(0), l = get_local_id(0);
    held[l] = i < n ? x[i] : 0;
    for (int step = 1; step < WG; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int more = l >= step ? held[l - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        held[l] += more;
    }
    if (i < n) z[i] = held[l];
    if (l == WG - 1) sums[get_group_id(0)] = held[l];
}
__kernel void across(__global int* sums, int n) {
    if (get_global_id(0) > 0) return;
    int sum = 0;
    for (int g = 0; g < (n + WG - 1) / WG; ++g) {
        const int own = sums[g];
        sums[g] = sum;
        sum += own;
    }
}
__kernel void shifted(__global int* z, __global const int* sums, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] += sums[get_group_id(0)];
}
"""


def prefix_sums() -> Honest:
    items = lab.launch(items="n", local="WG")
    kernel = lab.Kernel(
        SCAN,
        "scan",
        parameters={"WG": [64, 32]},
        arguments=[lab.input("x", "n", "int32"), lab.output("z", "n", "int32"),
                   lab.scratch("sums", "ceil(n / WG)", "int32"), lab.value("n")],
        stages=[lab.stage("blocks", "x z sums n", items), lab.stage("across", "sums n", lab.launch(items=1, local=1)),
                lab.stage("shifted", "z sums n", items)],
        reference=lambda x: np.cumsum(x),
    )  # fmt: skip
    return Honest(SCAN, kernel, {"n": 5003})


KERNELS = {
    "sum in two stages": two_stages,
    "histogram of floats": any_order,
    "long sums": long_sums,
    "histogram of whole numbers": histogram,
    "products of bytes": byte_products,
    "matrix product in tiles": matrix_product,
    "matrix and vector": matrix_vector,
    "soft maximum": soft_maximum,
    "least of each row": least_of_rows,
    "sparse matrix": sparse_product,
    "prefix sums": prefix_sums,
}
