"""E3: matches of DNA of at least some length, which is an argument or a program's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same
from gpuopt.workloads.casebook.query_bytes import data as queries
from gpuopt.workloads.casebook.query_bytes import matched


def long_enough(Q: np.ndarray, ref: np.ndarray, start: np.ndarray, minimum: int) -> np.ndarray:
    """The lengths of matches, 0 of those below the least length, int32 (N,)."""
    found = matched(Q, ref, start)
    return np.where(found >= minimum, found, 0).astype(np.int32)


def data(N: int, L: int, R: int, minimum: int) -> dict[str, np.ndarray]:
    """Queries as of A7, as bytes."""
    made = queries(N, L, R)
    return {name: made[name] for name in ("Q", "ref", "start")}


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("Q", ("N", "L"), "uint8"),
        lab.input("ref", "R", "uint8"),
        lab.input("start", "N", "int32"),
        lab.output("out", "N", "int32"),
        lab.value("N"),
        lab.value("L"),
        lab.value("minimum"),
    ],
    "reference": long_enough,
    "work": lab.work(write="4 * N"),
}
ITEMS = lab.launch(items="N", local=256)
LOADS = "its loads decide: they are the same bytes in the same order, and the loop's test is beside them"

ENTRY = Entry(
    id="E3",
    name="min_match",
    title="a least length of matches that is an argument",
    project="MUMmerGPU, alignment of DNA",
    category="E",
    provenance=["rec"],
    versions=[
        own(
            "bug",
            "min_match/argument",
            "the least length an argument",
            stages=[lab.stage("min_match_argument", "Q ref start out N L minimum", ITEMS)],
            **TASK,
        ),
        own(
            "fix",
            "min_match/specialized",
            "a program for each least length",
            parameters={"MINLEN": [20, 8, 40]},
            constraints="MINLEN == minimum",
            stages=[lab.stage("min_match_specialized", "Q ref start out N L", ITEMS)],
            predicted={
                "gpu_fast_fp64": same(LOADS),
                "gpu_slow_fp64": same(LOADS),
                "cpu": fast("an unrolled loop compares many bases by one instruction"),
            },
            paper=[gain("GTX 480", 1.05, level="program")],
            **TASK,
        ),
    ],
    sizes={"N": 2**18, "L": 64, "R": 2**22, "minimum": 20},
    quick={"N": 2**15, "L": 64, "R": 2**20, "minimum": 20},
    awkward={"N": 77, "L": 24, "R": 1013, "minimum": 8},
    explains="loads of a loop that is unrolled, which need not wait for each other",
    exactness="whole numbers: results are exact.",
    story=Story(
        did="A match of a query counts only if so many bases agree at least. That length is an argument of the kernel.",
        slow=(
            "The loop over these bases counts and tests at each of them, and its bound is not known when the kernel "
            "is compiled."
        ),
        fix=(
            "A program is built for each least length that occurs, and the loop is unrolled. That the project's gain "
            "of 1.05x came from here is inferred, and it is one of the whole program."
        ),
        look_for="An argument that the user sets once and that bounds an inner loop. Make it a macro.",
    ),
    data=data,
    program="queries, the reference and the places go to the device, the kernel runs, and the lengths come back",
)
