"""B4: the Laplacian of a three-dimensional grid, one kernel in work-groups of several shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same

WEIGHTS = {"per_hx2": 1.0, "per_hy2": 1.5, "per_hz2": 2.0, "scale": 0.25}  # of x, y and z; exact in fp32


def stencil(p: np.ndarray, out: np.ndarray, sign: int) -> np.ndarray:
    """What is added to ``out`` (nx, ny, nz), of ``p`` with a layer of ghosts, and ``out``; the middle by ``sign``.
    Plane by plane: what NumPy holds of one stays in a cache."""
    x, y, z = (WEIGHTS[name] for name in ("per_hx2", "per_hy2", "per_hz2"))
    made = np.empty_like(out)
    for i in range(len(out)):
        before, plane, after = p[i : i + 3]
        middle = sign * 2 * plane[1:-1, 1:-1]
        total = (after[1:-1, 1:-1] + before[1:-1, 1:-1] + middle) * x
        total += (plane[2:, 1:-1] + plane[:-2, 1:-1] + middle) * y
        total += (plane[1:-1, 2:] + plane[1:-1, :-2] + middle) * z
        made[i] = out[i] + WEIGHTS["scale"] * total
    return made


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("p", ("nx + 2", "ny + 2", "nz + 2")),
        lab.inout("out", ("nx", "ny", "nz")),
        *(lab.value(name, "float32", value) for name, value in WEIGHTS.items()),
        *(lab.value(name) for name in ("nx", "ny", "nz")),
    ],
    "reference": lambda p, out: {"out": stencil(p, out, -1)},
    "tolerance": lab.rounding(lambda p, out: {"out": stencil(np.abs(p), np.abs(out), 1)}, 10),
    "work": lab.work(
        flops="14 * nx * ny * nz",
        read="4 * ((nx + 2) * (ny + 2) * (nz + 2) + nx * ny * nz)",
        write="4 * nx * ny * nz",
    ),
}
WHOLE_ROWS = "32 neighbours read whole lines of memory, and groups are fewer and fill a compute unit"
ONE_BY_ONE = "a core runs along the rows of a group one after another, and its cache holds those around them"


def launch(x: int, y: int, z: int) -> Any:
    """An item for each point, in groups of so many along a row, rows and planes."""
    return lab.launch(items=("nz", "ny", "nx"), local=(x, y, z))


ENTRY = Entry(
    id="B4",
    name="laplacian_block",
    title="a stencil in three dimensions, in small work-groups",
    project="OpenCurrent",
    category="B",
    provenance=["src"],
    versions=[
        own("bug", "laplacian_block/16x2x2", "groups of 16 x 2 x 2", launch=launch(16, 2, 2), **TASK),
        own(
            "fix",
            "laplacian_block/32x8x1",
            "groups of 32 x 8 in a plane",
            launch=launch(32, 8, 1),
            predicted={
                "gpu_fast_fp64": fast(WHOLE_ROWS),
                "gpu_slow_fp64": fast(WHOLE_ROWS),
                "cpu": same(ONE_BY_ONE),
            },
            paper=[gain("GTX 480", 1.07)],
            **TASK,
        ),
        own(
            "fix",
            "laplacian_block/64x4x1",
            "groups of 64 x 4 in a plane",
            launch=launch(64, 4, 1),
            predicted={
                "gpu_fast_fp64": fast(WHOLE_ROWS),
                "gpu_slow_fp64": fast(WHOLE_ROWS),
                "cpu": same(ONE_BY_ONE),
            },
            **TASK,
        ),
    ],
    sizes={"nx": 256, "ny": 256, "nz": 256},
    quick={"nx": 64, "ny": 128, "nz": 128},
    awkward={"nx": 7, "ny": 13, "nz": 77},
    explains="whole lines of memory, and work-items that a compute unit has at a time",
    exactness="fp32 sums of ten terms, whose order the text gives: within their rounding, against sums in fp64.",
    story=Story(
        did="Each work-item adds the Laplacian at a point of a grid to another grid, in groups of 16 x 2 x 2.",
        slow=(
            "64 items a group are few: a GTX 480 runs 8 groups on a compute unit, which are 512 items where it has "
            "room for 1536. And 16 neighbours read 64 bytes, half a line of its memory."
        ),
        fix="Groups of 256 items, at least 32 along a row: 32 x 8 x 1 or 64 x 4 x 1.",
        look_for=(
            "Work-groups of less than 128 items, and of less than 32 along the direction in which memory runs. Cubes "
            "look natural in three dimensions: the project also has 16 x 4 x 4, 16 x 4 x 2 and 32 x 2 x 2. A stencil "
            "gains little, as caches serve most of what it reads, and the more groups a device holds, the less."
        ),
    ),
)
