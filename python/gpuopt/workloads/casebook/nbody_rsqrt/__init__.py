"""F3: accelerations of bodies in doubles, by a square root and a division, or by a reciprocal square root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same

BLOCK = 16  # bodies whose pairs NumPy holds at a time: as many as a cache does


def pairs(bodies: np.ndarray, softening: float) -> Iterator[tuple[slice, list[np.ndarray], np.ndarray]]:
    """Some bodies, how far all are from each of them in x, y and z, and squares of softened distances, (some, n)."""
    places = np.ascontiguousarray(bodies[:, :3].T)
    for first in range(0, len(bodies), BLOCK):
        some = slice(first, first + BLOCK)
        x, y, z = (axis - axis[some, None] for axis in places)
        yield some, [x, y, z], x * x + y * y + z * z + softening**2


def accelerations(bodies: np.ndarray, softening: float) -> np.ndarray:
    """What all bodies do to each, (n, 3), in fp64. Bodies are rows of x, y, z and mass."""
    a, masses = np.empty((len(bodies), 3)), bodies[:, 3].copy()
    for some, distances, r2 in pairs(bodies, softening):
        pull = masses / (r2 * np.sqrt(r2))
        for axis, d in enumerate(distances):
            a[some, axis] = (pull * d).sum(axis=1)
    return a


def magnitudes(bodies: np.ndarray, softening: float) -> np.ndarray:
    """No less than the sums of the absolute values that accelerations are sums of, (n, 3)."""
    sums, masses = np.empty(len(bodies)), bodies[:, 3].copy()
    for some, _, r2 in pairs(bodies, softening):
        sums[some] = (masses / r2).sum(axis=1)
    return np.repeat(sums[:, None], 3, axis=1)


def data(n: int) -> dict[str, np.ndarray]:
    """Bodies in a cube, with masses that add up to about 1."""
    random = np.random.default_rng(0)
    return {"bodies": np.column_stack([random.uniform(-1, 1, (n, 3)), random.uniform(0.5, 1.5, n) / n])}


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("bodies", ("n", 4), "float64"),
        lab.output("a", ("n", 3), "float64"),
        lab.value("n"),
        lab.value("softening", "float64", 0.01),
    ],
    "reference": accelerations,
    "tolerance": lab.rounding(magnitudes, "n"),
    "work": lab.work(flops="20 * n * n", read="32 * n", write="24 * n"),
    "launch": lab.launch(items="n", local=64),
}
SHORTER = "a reciprocal root of doubles is a start in hardware and few steps; a root and a division are one such each"

ENTRY = Entry(
    id="F3",
    name="nbody_rsqrt",
    title="a square root and a division of doubles",
    project="QymSym, orbits of many bodies",
    category="F",
    provenance=["rec"],
    versions=[
        own("bug", "nbody_rsqrt/sqrt_divide", "the mass divided by a power made with sqrt", **TASK),
        own(
            "fix",
            "nbody_rsqrt/reciprocal_root",
            "the mass times the third power of rsqrt",
            predicted={
                "gpu_fast_fp64": fast(SHORTER),
                "gpu_slow_fp64": fast(SHORTER),
                "cpu": same("there is no instruction for it in doubles, so that it is a root and a division again"),
            },
            paper=[gain("GTX 480", 1.5), gain("GTX 480", 1.43, level="program")],
            **TASK,
        ),
    ],
    sizes={"n": 4096},
    quick={"n": 1024},
    awkward={"n": 77},
    explains="instructions of a division and a root in doubles",
    exactness=(
        "fp64: rsqrt may be 2 units in the last place off, which its third power makes 6; within the rounding of sums "
        "of so many terms."
    ),
    story=Story(
        did=(
            "Each body is accelerated by all others: masses times distances, divided by the third power of the "
            "distance, in doubles. That the paper's figure is of QymSym's kernel is inferred; it is printed without "
            "the name."
        ),
        slow=(
            "The power is made with a square root, and then divided by. GPUs have no single instruction for either in "
            "doubles: each is a sequence of products that refines a first guess."
        ),
        fix="One reciprocal square root, and its third power by two products. Nothing is divided.",
        look_for=(
            "x / sqrt(y), x / (y * sqrt(y)) and pow(y, -1.5) in inner loops. On a GPU use rsqrt; on a CPU, which has "
            "instructions for division and root, nothing is gained."
        ),
    ),
    data=data,
)
