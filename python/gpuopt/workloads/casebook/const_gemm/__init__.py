"""D1: factors that all work-items want at the same time, in global or in constant memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same


def data(n: int) -> dict[str, np.ndarray]:
    """A tile of A, transposed, twice: for global and for constant memory; and 128 rows of B."""
    random = np.random.default_rng(0)
    tile = random.uniform(-1, 1, (128, 16)).astype(np.float32)
    return {"T": tile, "constant_T": tile.copy(), "B": random.uniform(-1, 1, (128, n)).astype(np.float32)}


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("T", (128, 16)),
        lab.constant("constant_T", (128, 16)),
        lab.input("B", (128, "n")),
        lab.output("C", (16, "n")),
        lab.value("n"),
    ],
    "reference": lambda T, B: T.T @ B,
    "tolerance": lab.rounding(lambda T, B: np.abs(T.T) @ np.abs(B), 128),
    "work": lab.work(flops="2 * 16 * 128 * n", read="4 * 128 * n", write="4 * 16 * n"),
}
ITEMS = lab.launch(items="n", local=128)

ENTRY = Entry(
    id="D1",
    name="const_gemm",
    title="factors of a matrix product that all work-items want at once",
    project="CUBLAS",
    category="D",
    provenance=["fig"],
    versions=[
        own(
            "bug",
            "const_gemm/global_factors",
            "the tile of A in global memory",
            stages=[lab.stage("const_gemm_global_factors", "T B C n", ITEMS)],
            **TASK,
        ),
        own(
            "fix",
            "const_gemm/constant_factors",
            "the tile of A in constant memory",
            stages=[lab.stage("const_gemm_constant_factors", "constant_T B C n", ITEMS)],
            predicted={
                "gpu_fast_fp64": fast("a multiply-add takes its factor from constant memory without a load of its own"),
                "gpu_slow_fp64": fast("a multiply-add takes its factor from constant memory without a load of its own"),
                "cpu": same("constant memory is plain memory there, and the tile fits the first cache"),
            },
            paper=[gain("GTX 480", 1.1, 1.3), gain("GTX 480", 1.74)],
            **TASK,
        ),
    ],
    sizes={"n": 2**18},
    quick={"n": 2**14},
    awkward={"n": 333},
    explains="loads of factors beside multiply-adds",
    exactness="fp32 sums in the same order: within the rounding of so many terms, against sums in fp64.",
    story=Story(
        did=(
            "Each work-item has a column of the product, and multiplies each element of B that it loads with 16 of A. "
            "All work-items want the same 16 at the same time. The paper's kernel takes them from constant memory, "
            "and is compared with whole libraries. Here both kernels are alike, but one takes the 16 from global "
            "memory, so that nothing but the kind of memory differs."
        ),
        slow="Each factor is loaded before it is used: as many instructions again as there are multiply-adds.",
        fix=(
            "A tile of 16 x 128 elements of A, 8 KiB, goes to constant memory. It hands one place to all work-items of "
            "a warp at once, as an operand of the multiply-add. For a whole product two such buffers are filled and "
            "used in turn."
        ),
        look_for=(
            "Small tables at indices that do not depend on the work-item. Where they do, constant memory is slow: see "
            "D3."
        ),
    ),
    slips=[
        "Figure 14 begins with sums that nothing has set, and overwrites C where it should add to it.",
        "The gains are over whole libraries, CUBLAS 3.2 and 3.1.",
    ],
    data=data,
)
