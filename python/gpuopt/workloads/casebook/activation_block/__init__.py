"""B3: activations of radial basis functions, one kernel in work-groups of several shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The squared distances (samples, centers) between rows of B and rows of A."""
    return np.square(B).sum(axis=1)[:, None] + np.square(A).sum(axis=1) - 2 * B @ A.T


def reference(A: np.ndarray, B: np.ndarray, spread: np.ndarray, scale: float) -> np.ndarray:
    """The activations (samples, centers)."""
    return np.asarray(np.exp(-distances(A, B) / (scale * spread**2)))


def magnitude(A: np.ndarray, B: np.ndarray, spread: np.ndarray, scale: float) -> np.ndarray:
    """What a relative error of the distance becomes in the activation, and that of the exponential itself."""
    exponent = distances(A, B) / (scale * spread**2)
    return np.asarray(np.exp(-exponent) * (1 + exponent))


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("A", ("centers", "width")),
        lab.input("B", ("samples", "width")),
        lab.input("spread", "centers", low=1.0, high=2.0),
        lab.output("out", ("samples", "centers")),
        lab.value("scale", "float32"),
        lab.value("centers"),
        lab.value("samples"),
        lab.value("width"),
    ],
    "reference": reference,
    "tolerance": lab.rounding(magnitude, "width"),
    "work": lab.work(
        flops="3 * samples * centers * width",
        read="4 * (centers * width + samples * width + centers)",
        write="4 * samples * centers",
    ),
}
FEWER_LINES = "32 neighbours touch 12 lines of memory at each step instead of 18"
ONE_BY_ONE = "a core runs the items of a group one after another, and its cache holds the rows of either shape"


def launch(x: int, y: int) -> Any:
    """An item for each activation, in groups of ``x`` centers and ``y`` samples."""
    return lab.launch(items=("centers", "samples"), local=(x, y))


ENTRY = Entry(
    id="B3",
    name="activation_block",
    title="activations of radial basis functions, in square work-groups",
    project="GPUMLib",
    category="B",
    provenance=["src"],
    versions=[
        own("bug", "activation_block/16x16", "groups of 16 x 16", launch=launch(16, 16), **TASK),
        own(
            "fix",
            "activation_block/8x32",
            "groups of 8 centers x 32 samples",
            launch=launch(8, 32),
            predicted={
                "gpu_fast_fp64": fast(FEWER_LINES),
                "gpu_slow_fp64": fast(FEWER_LINES),
                "cpu": same(ONE_BY_ONE),
            },
            paper=[gain("GTX 480", 1.77)],
            **TASK,
        ),
        own(
            "fix",
            "activation_block/8x64",
            "groups of 8 x 64, where a row of A serves more samples",
            launch=launch(8, 64),
            predicted={
                "gpu_fast_fp64": fast(FEWER_LINES),
                "gpu_slow_fp64": fast(FEWER_LINES),
                "cpu": same(ONE_BY_ONE),
            },
            **TASK,
        ),
        own(
            "trap",
            "activation_block/8x128",
            "groups of 8 x 128, where a row of A serves still more",
            launch=launch(8, 128),
            predicted={
                "gpu_fast_fp64": same("one or two such groups fill a compute unit, which loses what the cache gains"),
                "gpu_slow_fp64": same("one such group fills a compute unit, which loses what the cache gains"),
                "cpu": same(ONE_BY_ONE),
            },
            **TASK,
        ),
    ],
    sizes={"centers": 2048, "samples": 1024, "width": 1024, "scale": 512.0},
    quick={"centers": 256, "samples": 256, "width": 128, "scale": 64.0},
    awkward={"centers": 77, "samples": 45, "width": 33, "scale": 16.0},
    explains="lines of memory that a load touches, and rows that the cache must hold",
    exactness="fp32 sums in the same order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "Each work-item computes the distance between a row of A and a row of B, and from it an activation. The "
            "kernel uses no local memory: the cache is to serve the many items that read the same row."
        ),
        slow=(
            "In groups of 16 x 16, the first thing that comes to mind, 32 neighbours read 16 rows of A and two of B: "
            "18 lines of memory at each step. The rows of A are wanted by all parts of the group, so that they "
            "must stay in the cache until the last of them has come. The paper's kernel squares by pow, "
            "where this one multiplies (F5); by that kernel 8 x 32 gains nothing on an H200."
        ),
        fix=(
            "The shape alone: with 8 x 32, 32 neighbours read 8 rows of A and four of B, which are 12 lines. "
            "4 x 64 would be 12 as well and was no better, so the count is not the whole story. Larger groups use a "
            "row more often; at 1024 items the paper found them slower again, as one group filled a compute unit."
        ),
        look_for=(
            "A kernel that leaves reuse to the cache, in groups of 16 x 16. Try other shapes of as many items: "
            "which is best depends on the kernel, the sizes and the cache. Here the rule that a group should be 32 "
            "wide is wrong."
        ),
    ),
    slips=[
        "The gain is 1.77x in the text and in Table II, and 1.78x in Table I.",
        "The gain in energy is 87 % in the text, and 2.09x in Table I.",
    ],
)
