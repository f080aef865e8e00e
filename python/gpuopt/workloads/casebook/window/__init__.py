"""A3: sums of three neighbours, from global memory or by way of local memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, gain, own, same, slow

HALO = 17  # how far the last neighbour lies behind an element
LARGEST = 1000  # of whole numbers, whose sums of three fp32 holds exactly


def whole_numbers(n: int) -> Mapping[str, np.ndarray]:
    """The elements and those behind the last of them, as whole numbers in fp32."""
    drawn = np.random.default_rng(3).integers(-LARGEST, LARGEST, n + HALO, endpoint=True)
    return {"in": drawn.astype(np.float32)}


def reference(**given: Any) -> np.ndarray:
    """Element i is the sum of those 15, 16 and 17 places behind it."""
    data, n = given["in"], given["n"]
    return np.asarray(data[HALO : HALO + n] + data[HALO - 1 : HALO - 1 + n] + data[HALO - 2 : HALO - 2 + n])


TASK: dict[str, Any] = {
    "arguments": [lab.input("in", f"n + {HALO}"), lab.output("out", "n"), lab.value("n")],
    "launch": lab.launch(items="n", local=256),
    "reference": reference,
    "tolerance": 0.0,
    "work": lab.work(flops="2 * n", read=f"4 * (n + {HALO})", write="4 * n"),
}
CACHED = "the cache of a compute unit serves the loads that overlap, as local memory does"

ENTRY = Entry(
    id="A3",
    name="window",
    title="sums of neighbours, loaded from where no line of memory begins",
    project="a pattern of several projects",
    category="A",
    provenance=["fig"],
    versions=[
        own("bug", "window/direct", "three loads, two of them not aligned", **TASK),
        own(
            "control",
            "window/tiled",
            "one aligned load of each element, by way of local memory",
            predicted={
                "gpu_fast_fp64": same(CACHED),
                "gpu_slow_fp64": same(CACHED),
                "cpu": slow("its caches serve such loads well; the tile adds a copy and a barrier"),
            },
            paper=[gain("GTX 285", 2.44), gain("GTX 480", 1.0), gain("HD 5870", 1.0)],
            **TASK,
        ),
    ],
    sizes={"n": 1 << 24},
    quick={"n": 1 << 21},
    awkward={"n": 1009},
    explains="loads that overlap, and a cache that serves them",
    exactness="exact: the data are whole numbers, whose sums fp32 holds.",
    story=Story(
        did="Each work-item adds up three elements that lie beside each other, 15 to 17 places behind its own.",
        slow=(
            "Each element is read three times. Two of the three loads of neighbours begin in the middle of a line of "
            "memory and touch one line more. A GPU without a cache, as the GTX 285 of 2008, fetches all of it from "
            "memory."
        ),
        fix=(
            "A work-group copies its elements and the 17 behind them into local memory, aligned, and adds up from "
            "there. On the paper's GPUs with a cache for such loads it gains nothing: the cache was the fix."
        ),
        look_for=(
            "Copies into local memory that are only to align loads or to read neighbours once, from the years before "
            "GPUs had caches. Measure the kernel without them; it is shorter, and rarely slower."
        ),
    ),
    slips=[
        "It prints the loads alone, not what is done with them; the sum is ours.",
        (
            "86.6 GB/s and a gain of 2.44x make 211 GB/s, more than the memory of a GTX 285 gives: another size, or "
            "bytes that were asked for."
        ),
    ],
    data=whole_numbers,
)
