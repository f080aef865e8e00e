"""E1: words of DNA looked up with each base changed, their length a run-time argument or a program's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt import lab
from gpuopt.workloads.casebook.entry import Entry, Story, fast, gain, own, same, slow

OFFSET, PRIME = 2166136261, 16777619  # FNV-1a


def fnv1a(codes: np.ndarray) -> np.ndarray:
    """The hash of each row of codes, uint8 (n, length), as uint32 (n,)."""
    found = np.full(len(codes), OFFSET, dtype=np.uint32)
    for column in codes.T:
        found = (found ^ column) * np.uint32(PRIME)
    return found


def counted(reads: np.ndarray, bits: np.ndarray, K: int, M: int) -> np.ndarray:
    """How many of the 4 K changed words of each read are set in the table of bits."""
    found = np.zeros(len(reads), dtype=np.uint32)
    for place in range(K):
        for base in range(4):
            word = reads[:, :K].copy()
            word[:, place] = base
            bit = fnv1a(word) % np.uint32(M)
            found += bits[bit // 32] >> bit % 32 & 1
    return found


TASK: dict[str, Any] = {
    "arguments": [
        lab.input("reads", ("N", "L"), "uint8", low=0, high=4),
        lab.input("bits", "M / 32", "uint32", low=0, high=2**32),
        lab.output("found", "N", "uint32"),
        lab.local("space", "64 * K"),
        lab.value("K"),
        lab.value("N"),
        lab.value("L"),
        lab.value("M", "uint32"),
    ],
    "reference": counted,
    "work": lab.work(read="N * K + M / 8", write="4 * N"),
}
READS = lab.launch(items="N", local=64)
ON_A_GPU = "a byte from a register replaces a read of local memory, and the loop has no test and no index left"

ENTRY = Entry(
    id="E1",
    name="kmer",
    title="words of DNA of a length that is an argument",
    project="DecGPU, correction of reads of DNA",
    category="E",
    provenance=["fig", "rec"],
    versions=[
        own(
            "bug",
            "kmer/local_window",
            "the window in local memory, its length an argument",
            stages=[lab.stage("kmer_local_window", "reads bits found space K N L M", READS)],
            **TASK,
        ),
        own(
            "fix",
            "kmer/specialized",
            "a program for each length, the window in registers",
            parameters={"LENGTH": [31, 15, 21, 25]},
            constraints="LENGTH == K",
            stages=[lab.stage("kmer_specialized", "reads bits found N L M", READS)],
            predicted={
                "gpu_fast_fp64": fast(ON_A_GPU),
                "gpu_slow_fp64": fast(ON_A_GPU),
                "cpu": fast(
                    "the innermost loop has no index left to compute, and the compiler knows each of its steps"
                ),
            },
            paper=[gain("GTX 480", 1.93), gain("GTX 480", 1.19, level="program")],
            **TASK,
        ),
        own(
            "trap",
            "kmer/private_dynamic",
            "an array of each work-item's own, its length an argument",
            stages=[lab.stage("kmer_private_dynamic", "reads bits found K N L M", READS)],
            predicted={
                "gpu_fast_fp64": slow("registers cannot be indexed at run time, so that the array lies in memory"),
                "gpu_slow_fp64": slow("registers cannot be indexed at run time, so that the array lies in memory"),
                "cpu": same("local memory and private arrays are both plain memory, held by the first cache"),
            },
            **TASK,
        ),
    ],
    sizes={"N": 65536, "L": 64, "K": 31, "M": 2**20},
    quick={"N": 1024, "L": 64, "K": 31, "M": 2**20},
    awkward={"N": 77, "L": 41, "K": 21, "M": 4128},
    explains="instructions, and loads from local memory, of a hash's step",
    exactness="results are whole numbers and compared as such.",
    story=Story(
        did=(
            "Wrong bases of a short piece of DNA, called a read, are found by trying: each of the four bases is put "
            "at each place of a window of K bases, and a hash of the changed word is looked up in a table of bits, "
            "which tells whether the word is known. K is odd and below 33, usually 31. The kernels here count how "
            "many of the changed words of a read's first window are known."
        ),
        slow=(
            "K is an argument, which the compiler does not know, and the window is an array in local memory. Each of "
            "the 4 K changed words takes K - 1 bytes from there: for K = 31 that is 3720 loads from local memory for "
            "one piece of DNA, in a loop with a counter and a branch for each."
        ),
        fix=(
            "A program is built for each K that occurs. The innermost loop is unrolled, each index is a known "
            "number, and the window lies in registers. A private array alone is no fix while K is an argument: "
            "registers cannot be indexed at run time, so that the array lies in memory."
        ),
        look_for=(
            "An argument that takes few values and bounds an inner loop or sizes a small array. Make it a macro, build "
            "once for each value, keep the programs, and check in the compiled kernel that the array left memory."
        ),
    ),
    slips=["Figure 17 lacks the index i in `i * group size`, the place of a byte in local memory."],
    program="the reads and the table of bits go to the device, the kernel runs, and the counts come back",
)
