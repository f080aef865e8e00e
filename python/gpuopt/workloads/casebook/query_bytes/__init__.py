"""A7: lengths of matches of DNA, a byte a step, or four as one uint and side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same, slow


def matched(Q: np.ndarray, ref: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The length of the common beginning of each query (N, L) and the reference from its place on, int32 (N,)."""
    length = Q.shape[1]
    differs = np.ones((len(Q), length + 1), dtype=bool)
    differs[:, :length] = ref[start[:, None] + np.arange(length)] != Q
    return differs.argmax(axis=1).astype(np.int32)


def data(N: int, L: int, R: int) -> dict[str, np.ndarray]:
    """Queries that are copies of the reference, most of them with one wrong base; as bytes and packed."""
    random = np.random.default_rng(0)
    ref = random.integers(0, 4, R).astype(np.uint8)
    start = random.integers(0, R - L + 1, N).astype(np.int32)
    queries = ref[start[:, None] + np.arange(L)]
    wrong = random.integers(0, 5 * L // 4, N)
    at = np.flatnonzero(wrong < L)
    queries[at, wrong[at]] = (queries[at, wrong[at]] + 1) % 4
    packed = np.ascontiguousarray(queries.view(np.uint32).T)
    return {"Q": queries, "ref": ref, "start": start, "packed": packed}


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("Q", ("N", "L"), "uint8"),
        lab.input("packed", ("L / 4", "N"), "uint32"),
        lab.input("ref", "R", "uint8"),
        lab.input("start", "N", "int32"),
        lab.scratch("made", "N * L / 4", "uint32"),
        lab.output("out", "N", "int32"),
        lab.value("N"),
        lab.value("L"),
    ],
    "reference": matched,
    "work": lab.work(write="4 * N"),
}
ITEMS = lab.launch(items="N", local=256)
COALESCED = "neighbours read one line of memory instead of one each, and a step compares four bases"
PASS = "packing reads every query whole and uncoalesced, where a match often ends early"

ENTRY = Entry(
    id="A7",
    name="query_bytes",
    title="queries of DNA, read a byte at a time",
    project="MUMmerGPU, alignment of DNA",
    category="A",
    provenance=["src", "rec"],
    versions=[
        own(
            "bug",
            "query_bytes/bytes",
            "a query to each work-item, a byte a step",
            stages=[lab.stage("query_bytes_bytes", "Q ref start out N L", ITEMS)],
            **TASK,
        ),
        own(
            "fix",
            "query_bytes/packed",
            "four bases a step, neighbours side by side; the queries come packed",
            alone=True,
            stages=[lab.stage("query_bytes_packed", "packed ref start out N L", ITEMS)],
            predicted={
                "gpu_fast_fp64": fast(COALESCED),
                "gpu_slow_fp64": fast(COALESCED),
                "cpu": fast("a step compares four bases"),
            },
            **TASK,
        ),
        own(
            "trap",
            "query_bytes/packing",
            "the same after a pass that packs the queries: the pipeline",
            stages=[
                lab.stage("query_bytes_pack", "Q made N L", lab.launch(items=("N", "L / 4"), local=(64, 4))),
                lab.stage("query_bytes_match", "made ref start out N L", ITEMS),
            ],
            predicted={"gpu_fast_fp64": slow(PASS), "gpu_slow_fp64": same(PASS), "cpu": slow(PASS)},
            paper=[gain("GTX 480", 1.05, level="program")],
            **TASK,
        ),
    ],
    sizes={"N": 2**18, "L": 64, "R": 2**22},
    quick={"N": 2**15, "L": 64, "R": 2**20},
    awkward={"N": 77, "L": 24, "R": 1013},
    explains="bytes that a load moves and lines that it touches, and the pass that makes them few",
    exactness="whole numbers: results are exact.",
    story=Story(
        did=(
            "Each work-item compares a query of DNA with a reference, from a given place on, and counts how many bases "
            "agree. Each base is a byte."
        ),
        slow=(
            "A work-item reads one byte a step, and neighbours read a whole query apart. Work-items end at different "
            "steps, too, and those of a warp wait for the longest."
        ),
        fix=(
            "Four bases are compared as one uint, and the uints of neighbouring queries lie side by side. The queries "
            "must be packed for it. So two gains are measured: of the kernel alone, whose queries come packed, and of "
            "the pipeline, which packs them first. The paper tells only that of the whole program, 1.05x."
        ),
        look_for=(
            "Loops over the bytes of a row that a work-item owns. Before changing how data are stored, measure the "
            "pass that changes them, and what share of the program the kernel has."
        ),
    ),
    slips=["The gain of 1.05x is of the whole program; the paper has none of the kernel alone."],
    data=data,
    program=(
        "queries as bytes, the reference and the places go to the device, the kernels run, the pass that packs "
        "among them, and the lengths come back"
    ),
)
