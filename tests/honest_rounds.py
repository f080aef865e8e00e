"""Honest kernels of several stages, and of rounds that the host repeats."""

from __future__ import annotations

import numpy as np

import own_kernels
from gpuopt import lab
from own_kernels import Honest


def search() -> Honest:
    """A search of a random graph: races of equal values, and -1 for what is not reached."""
    n = 500
    degrees = np.arange(n) % 4

    def first(random: np.random.Generator) -> np.ndarray:
        return np.cumsum([0, 3, *random.permutation(degrees[:-1])]).astype(np.int32)

    kernel = own_kernels.search(data={"first": first})
    return Honest(own_kernels.SEARCH, kernel, {"n": n, "edges": int(degrees.sum())})


NORMAL = """
float summed(__local float* held, float own) {
    const int l = get_local_id(0);
    held[l] = own;
    for (int step = WG / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < step) held[l] += held[l + step];
    }
    return held[0];
}
__kernel void mean(__global const float* x, __global float* facts, int n) {
    __local float held[WG];
    float sum = 0;
    for (int i = get_local_id(0); i < n; i += WG) sum += x[i];
    sum = summed(held, sum);
    if (get_local_id(0) == 0) facts[0] = sum / n;
}
__kernel void spread(__global const float* x, __global float* facts, int n) {
    __local float held[WG];
    float sum = 0;
    for (int i = get_local_id(0); i < n; i += WG) sum += (x[i] - facts[0]) * (x[i] - facts[0]);
    sum = summed(held, sum);
    if (get_local_id(0) == 0) facts[1] = rsqrt(sum / n + 1e-6f);
}
__kernel void normal(__global const float* x, __global const float* facts, __global float* z, int n) {
    const int i = get_global_id(0);
    if (i < n) z[i] = (x[i] - facts[0]) * facts[1];
}
"""


def three_stages() -> Honest:
    """The mean, then the spread, then what is normalized by them."""
    one = lab.launch(groups=1, local="WG")
    kernel = lab.Kernel(
        NORMAL,
        "normalized",
        parameters={"WG": [64, 128]},
        arguments=[lab.input("x", "n"), lab.scratch("facts", 2), lab.output("z", "n"), lab.value("n")],
        stages=[lab.stage("mean", "x facts n", one), lab.stage("spread", "x facts n", one),
                lab.stage("normal", "x facts z n", lab.launch(items="n", local="WG"))],
        reference=lambda x: (x - x.mean()) / np.sqrt(x.var() + x.dtype.type(1e-6)),
    )  # fmt: skip
    return Honest(NORMAL, kernel, {"n": 3000})


JACOBI = """
__kernel void copied(__global const float* x, __global float* a, int n) {
    const int i = get_global_id(0);
    if (i < n) a[i] = x[i];
}
__kernel void smoother(__global const float* a, __global float* b, int h, int w) {
    const int i = get_global_id(0), j = get_global_id(1), at = j * w + i;
    if (i >= w || j >= h) return;
    const bool edge = i == 0 || j == 0 || i == w - 1 || j == h - 1;
    b[at] = edge ? a[at] : 0.25f * (a[at - 1] + a[at + 1] + a[at - w] + a[at + w]);
}
"""


def jacobi() -> Honest:
    """A stencil from one array into the other and back, seven times."""

    def reference(x: np.ndarray) -> np.ndarray:
        a = x.copy()
        for _ in range(7):
            b = a.copy()
            b[1:-1, 1:-1] = (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1]) / 4
            a = b
        return a

    shape = ("h", "w")
    kernel = lab.Kernel(
        JACOBI,
        "jacobi",
        arguments=[lab.input("x", shape), lab.scratch("a", shape), lab.output("b", shape), lab.value("h"),
                   lab.value("w"), lab.value("n", each="h * w")],
        stages=[lab.stage("copied", "x a n", lab.launch(items="h * w")),
                lab.repeat(lab.stage("smoother", "a b h w", lab.launch(items=("w", "h"), local=(16, 4))), 7,
                           swap=("a", "b"))],
        reference=reference,
    )  # fmt: skip
    return Honest(JACOBI, kernel, {"h": 35, "w": 41})


SORT = """
// A round of a bitonic sort all of whose exchanges are ascending, so that any n will do.
__kernel void exchanged(__global uint* z, int n, int round) {
    int merge = 0;
    while ((merge + 1) * (merge + 2) / 2 <= round) ++merge;
    const int step = round - merge * (merge + 1) / 2, i = get_global_id(0);
    const int half_size = (1 << merge) >> step, block = i / half_size * 2 * half_size, within = i % half_size;
    const int a = block + within, b = step == 0 ? block + 2 * half_size - 1 - within : a + half_size;
    if (b < n && z[a] > z[b]) {
        const uint held = z[a];
        z[a] = z[b];
        z[b] = held;
    }
}
"""


def sort() -> Honest:
    """Bitonic, in place; the exchange follows from the round."""
    kernel = lab.Kernel(
        SORT,
        "sorted",
        arguments=[lab.inout("z", "n", "uint32", high=2**32), lab.value("n"), lab.value("round", each="i"),
                   lab.value("rounds")],
        stages=[lab.repeat(lab.stage("exchanged", "z n round", lab.launch(items="n")), "rounds")],
        reference=lambda z: {"z": np.sort(z)},
    )  # fmt: skip
    return Honest(SORT, kernel, {"n": 1000, "rounds": 55})


MEANS = """
__kernel void start(__global const int2* points, __global int2* centres, __global int* label, __global int* changed,
                    int n, int k, int rounds) {
    const int i = get_global_id(0);
    if (i < n) label[i] = -1;
    if (i < k) centres[i] = points[i];
    if (i < rounds) changed[i] = 0;
}
__kernel void assign(__global const int2* points, __global const int2* centres, __global int* label,
                     __global int* changed, int n, int k, int round) {
    const int i = get_global_id(0);
    if (i >= n) return;
    int nearest = 0, least = INT_MAX;
    for (int c = 0; c < k; ++c) {
        const int2 d = points[i] - centres[c];
        const int distance = d.x * d.x + d.y * d.y;
        if (distance < least) { least = distance; nearest = c; }
    }
    if (label[i] != nearest) atomic_inc(&changed[round]);
    label[i] = nearest;
}
__kernel void move(__global const int2* points, __global int2* centres, __global const int* label, int n, int k) {
    const int c = get_global_id(0);
    if (c >= k) return;
    int2 sum = 0;
    int count = 0;
    for (int i = 0; i < n; ++i)
        if (label[i] == c) { sum += points[i]; ++count; }
    if (count > 0) centres[c] = sum / count;
}
"""


def means_of(points: np.ndarray, k: int, rounds: int) -> dict[str, np.ndarray]:
    """Labels, centres and how many labels changed in each round, all in whole numbers."""
    centres, label, changed = points[:k].astype(np.int64), np.full(len(points), -1), []
    for _ in range(rounds):
        nearest = ((points[:, None, :].astype(np.int64) - centres) ** 2).sum(axis=2).argmin(axis=1)
        changed.append(int((nearest != label).sum()))
        label = nearest
        for c in range(k):
            if (label == c).any():
                centres[c] = points[label == c].sum(axis=0) // (label == c).sum()
    return {"label": label, "centres": centres, "changed": np.array(changed)}


def means() -> Honest:
    """k-means: the host repeats, and each round has a counter of its own."""
    kernel = lab.Kernel(
        MEANS,
        "means",
        arguments=[lab.input("points", ("n", 2), "int32", high=1000), lab.output("centres", ("k", 2), "int32"),
                   lab.output("label", "n", "int32"), lab.output("changed", "rounds", "int32"), lab.value("n"),
                   lab.value("k"), lab.value("rounds"), lab.value("round", each="i")],
        stages=[
            lab.stage("start", "points centres label changed n k rounds", lab.launch(items="max(n, rounds)")),
            lab.repeat([
                lab.stage("assign", "points centres label changed n k round", lab.launch(items="n")),
                lab.stage("move", "points centres label n k", lab.launch(items="k", local=4)),
            ], "rounds"),
        ],
        constraints=["k <= n"],
        reference=means_of,
    )  # fmt: skip
    return Honest(MEANS, kernel, {"n": 600, "k": 7, "rounds": 6})


BODIES = """
__kernel void moved(__global const float4* body, __global const float4* speed, __global float4* body_after,
                    __global float4* speed_after, float dt, int n) {
    const int i = get_global_id(0);
    if (i >= n) return;
    float4 pull = 0;
    for (int j = 0; j < n; ++j) {
        float4 d = body[j] - body[i];
        d.w = 0;
        const float inverse = rsqrt(dot(d, d) + 0.01f);
        pull += body[j].w * inverse * inverse * inverse * d;
    }
    speed_after[i] = speed[i] + dt * pull;
    float4 step = dt * speed_after[i];
    step.w = 0;
    body_after[i] = body[i] + step;
}
"""


def bodies() -> Honest:
    """A step of bodies that attract each other; w is the mass."""

    def reference(body: np.ndarray, speed: np.ndarray, dt: float) -> dict[str, np.ndarray]:
        d = body[None, :, :3] - body[:, None, :3]
        inverse = 1 / np.sqrt((d**2).sum(axis=2) + d.dtype.type(0.01))
        after, moved = speed.copy(), body.copy()
        after[:, :3] += dt * ((body[None, :, 3] * inverse**3)[:, :, None] * d).sum(axis=1)
        moved[:, :3] += dt * after[:, :3]
        return {"body_after": moved, "speed_after": after}

    shape = ("n", 4)
    kernel = lab.Kernel(
        BODIES,
        "moved",
        arguments=[lab.input("body", shape), lab.input("speed", shape), lab.output("body_after", shape),
                   lab.output("speed_after", shape), lab.value("dt", "float32", 0.01), lab.value("n")],
        launch=lab.launch(items="n"),
        reference=reference,
    )  # fmt: skip
    return Honest(BODIES, kernel, {"n": 150})


PATHS = """
__kernel void through(__global int* d, int n, int k) {
    const int i = get_global_id(0), j = get_global_id(1);
    if (i >= n || j >= n || i == k || j == k) return;
    d[j * n + i] = min(d[j * n + i], d[j * n + k] + d[k * n + i]);
}
"""


def shortest_paths() -> Honest:
    """Floyd and Warshall's, in place: a round a vertex."""

    def reference(d: np.ndarray) -> dict[str, np.ndarray]:
        d = d.copy()
        for k in range(len(d)):
            d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
        return {"d": d}

    kernel = lab.Kernel(
        PATHS,
        "through",
        arguments=[lab.inout("d", ("n", "n"), "int32", high=10_000), lab.value("n"), lab.value("k", each="i")],
        stages=[lab.repeat(lab.stage("through", "d n k", lab.launch(items=("n", "n"), local=(8, 8))), "n")],
        reference=reference,
    )
    return Honest(PATHS, kernel, {"n": 40})


KERNELS = {
    "search of a graph": search,
    "plan of three stages": three_stages,
    "stencil that swaps": jacobi,
    "sort": sort,
    "k-means": means,
    "bodies": bodies,
    "shortest paths": shortest_paths,
}
