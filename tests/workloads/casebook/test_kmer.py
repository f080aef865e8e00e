"""E1: the reference against known hashes, and the program for each length."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import UnsupportedError
from gpuopt.lab.timing import verification
from gpuopt.workloads.casebook.kmer import ENTRY, counted, fnv1a


def test_known_hashes() -> None:
    assert fnv1a(np.array([[0, 1, 2, 3]], dtype=np.uint8))[0] == 0xC3AA51B1
    assert fnv1a(np.zeros((1, 31), dtype=np.uint8))[0] == 0x8AA689C7


def test_counts() -> None:
    reads = np.zeros((1, 3), dtype=np.uint8)
    full, empty = np.full(2, 2**32 - 1, dtype=np.uint32), np.zeros(2, dtype=np.uint32)
    assert counted(reads, full, 3, 64)[0] == 12
    assert counted(reads, empty, 3, 64)[0] == 0
    bit = int(fnv1a(reads)[0]) % 64  # the unchanged word stands once for each place
    one = np.array([1 << bit % 32 if word == bit // 32 else 0 for word in range(2)], dtype=np.uint32)
    assert counted(reads, one, 3, 64)[0] >= 3


@pytest.mark.parametrize("length", [15, 25])
def test_each_length_has_its_program(any_device: gpuopt.Device, length: int) -> None:
    sizes = {**ENTRY.awkward, "K": length}
    problem, configuration = ENTRY.problem_of(sizes), ENTRY.configurations(sizes)[1]
    assert configuration.parameters == {"LENGTH": length}
    verification.verify(problem.prepare(configuration, any_device), problem, configuration)


def test_a_length_without_a_program(any_device: gpuopt.Device) -> None:
    sizes = {**ENTRY.awkward, "K": 17}
    with pytest.raises(UnsupportedError, match="LENGTH == K"):
        ENTRY.problem_of(sizes).prepare(ENTRY.configurations(sizes)[1], any_device)
