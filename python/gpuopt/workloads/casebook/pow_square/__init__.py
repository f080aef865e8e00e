"""F5: squares by the function for any exponent, or by a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook import activation_block
from gpuopt.workloads.casebook.activation_block import distances
from gpuopt.workloads.casebook.entry import Entry, Story, fast, own

OF_POW = 8  # times the rounding of a product: OpenCL allows pow 16 units in the last place


def magnitude(A: np.ndarray, B: np.ndarray, spread: np.ndarray, scale: float) -> np.ndarray:
    """What a relative error of all squares becomes in the activation, and that of the exponential itself."""
    exponent = distances(A, B) / (scale * spread**2)
    return np.asarray(np.exp(-exponent) * (1 + OF_POW * exponent))


TASK: dict[str, Any] = activation_block.TASK | {
    "launch": activation_block.launch(16, 16),
    "tolerance": lab.rounding(magnitude, "width"),
}
ANY_EXPONENT = "pow takes a logarithm and an exponential where one multiplication does"

ENTRY = Entry(
    id="F5",
    name="pow_square",
    title="squares by pow",
    project="GPUMLib",
    category="F",
    provenance=["src"],
    versions=[
        own("bug", "pow_square/power", "each difference squared by pow", **TASK),
        own(
            "fix",
            "pow_square/product",
            "each difference times itself",
            predicted={
                "gpu_fast_fp64": fast(ANY_EXPONENT),
                "gpu_slow_fp64": fast(ANY_EXPONENT),
                "cpu": fast(f"{ANY_EXPONENT}, and a library's function may keep a loop from being vectorized"),
            },
            **TASK,
        ),
    ],
    sizes={"centers": 512, "samples": 512, "width": 128, "scale": 64.0},
    quick={"centers": 64, "samples": 64, "width": 32, "scale": 16.0},
    awkward={"centers": 77, "samples": 45, "width": 33, "scale": 16.0},
    explains="instructions of a square",
    exactness=(
        "pow may be wrong by 16 units in the last place, a product by half of one: the results differ within that, "
        "held against products and sums in fp64."
    ),
    story=Story(
        did=(
            "The kernel of B3 squares the difference of two elements by pow(a - b, 2). The paper prints it, and does "
            "not say a word on it: it changes the shape of the work-groups alone."
        ),
        slow=(
            "pow is made for any exponent: it takes a logarithm, an exponential, and branches for signs, zeros and "
            "infinities. In C++ an integer exponent makes it a function of doubles as well: of 70 instructions that "
            "a compiler of today makes of the kernel, 15 are of doubles. Our kernel stays with floats, so that it "
            "runs on devices without doubles too."
        ),
        fix="Write the product. None of the then 15 instructions is of doubles.",
        look_for=(
            "pow with a small whole number. Some compilers put a product in its place, others do not, and an option "
            "or a version may decide it. A second look is due to exp(-1.0 * x) in a kernel of floats: 1.0 is a double."
        ),
    ),
)
