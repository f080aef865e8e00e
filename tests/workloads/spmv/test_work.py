"""The work that SpMV's plans declare, held against loops walked entry by entry: far diagonals, matrices that are not
square, rows that fill no vector, columns that fill no WIDTH."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core
from gpuopt.configuration import complete
from gpuopt.workloads.spmv.operation import prepare_spmv
from workloads.spmv.cases import matrix_of
from workloads.spmv.traffic import WALKS, Walk

LEVELS = {
    "padded": [{}, {"ROWS": 4}, {"ROWS": 2, "OFFSETS": 1}, {"HALF": 1}],
    "interior": [{"LOCAL": 64}, {"LOCAL": 64, "ROWS": 4, "SLICE": 256}, {"HALF": 1}],
    "resident": [{"LOCAL": 64, "ROWS": 2}],
    "banded": [{"LOCAL": 64}, {"LOCAL": 64, "ROWS": 4}],
    "tiles": [{"TILE_X": 32, "TILE_Y": 2}, {"TILE_X": 32, "TILE_Y": 2, "ROWS": 2, "WIDE": 4}],
    "symmetric": [{"TILE_X": 64, "TILE_Y": 1}, {"TILE_X": 32, "TILE_Y": 4, "ROWS": 2}, {"HALF": 1}],
    "row_blocks": [{"BLOCK": 64, "HALF": 1}, {"BLOCK": 256}],
    "unpacked": [{}],
    "sliced": [{"SLICE": 32, "WIDTH": 8}],
    "columns": [{"WIDTH": 2}],
}
MATRICES = (
    "wide", "tall", "beyond-the-edge", "unsorted", "many-diagonals", "no-rows", "no-columns", "torn-grid", "wide-grid",
    "even-grid", "far-line", "symmetric-line", "symmetric-torn-grid", "symmetric-without-main",
)  # fmt: skip
FEW = ("wide-grid", "even-grid", "torn-grid")  # for variants that have a matrix's diagonals compiled in
ELEMENT = 4


def bands_of(offsets: list[int], grid: int) -> list[tuple[int, int, int, int]]:
    """Runs of at most 16 neighbours in one line of the grid."""
    bands: list[tuple[int, int, int, int]] = []
    for offset in offsets:
        dy = int(np.sign(offset)) * ((abs(offset) + grid // 2) // grid) if grid else 0
        dx = offset - dy * grid
        if bands:
            first, count, across, down = bands[-1]
            if first + count == offset and down == dy and count < 16:
                bands[-1] = (first, count + 1, across, down)
                continue
        bands.append((offset, 1, dx, dy))
    return bands


def planned(
    name: str, configuration: Configuration, device: gpuopt.Device, vectors: int = 1, beta: float = 0
) -> tuple[dict[str, dict[str, float]], Walk]:
    data, offsets, shape = matrix_of(name, "float32")
    matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
    tails = () if vectors == 1 else (vectors,)
    x, y, out = (_core.empty((n, *tails), data.dtype, device) for n in (shape[1], shape[0], shape[0]))
    plan = prepare_spmv(matrix, x, out, configuration, y=y if beta else None, beta=beta)
    touching = sorted(int(o) for o in offsets if -shape[0] < o < shape[1])
    grid = matrix.grid_width
    walk = Walk(*shape, touching, grid or max(shape[0], 1), bands_of(touching, grid), configuration.parameters, vectors)
    if touching:
        WALKS[configuration.variant](walk)
    return plan.work, walk


def cases() -> list[Configuration]:
    return [
        complete("spmv", Configuration(variant, **levels)) for variant in WALKS for levels in LEVELS.get(variant, [{}])
    ]


def compulsory(walk: Walk, half: bool, upper: bool) -> int:
    """Each entry inside the matrix once, of mirrored ones one; each element of x that one of them meets; y."""
    entries = {(i, o) for o in walk.offsets for i in range(walk.rows) if 0 <= i + o < walk.cols}
    stored = {(i, o) for i, o in entries if o >= 0} if upper else entries
    met = {i + o for i, o in entries}
    return (2 if half else ELEMENT) * len(stored) + ELEMENT * walk.vectors * (len(met) + walk.rows)


@pytest.mark.thin(first=3)
@pytest.mark.parametrize("configuration", cases(), ids=str)
def test_declared_bytes_are_those_of_the_loops(any_device: gpuopt.Device, configuration: Configuration) -> None:
    ran = 0
    variant, level = configuration.variant, configuration.parameters
    vectors = 5 if variant.startswith("columns") else 1
    for name in FEW if variant in ("banded", "tiles") else MATRICES:
        try:
            work, walk = planned(name, configuration, any_device, vectors)
        except UnsupportedError:
            continue
        ran += 1
        half, upper = level.get("HALF") == 1, variant.startswith("symmetric")
        declared = work["bytes"]
        assert declared["dram"] == compulsory(walk, half, upper), name
        inside = {(i, o) for o in walk.offsets for i in range(walk.rows) if 0 <= i + o < walk.cols}
        assert work["flops"] == 2 * len(inside) * vectors
        assert walk.touched == {(i, o) for i, o in inside if o >= 0 or not upper}, name  # the walk is the product's
        offsets = 0 if level.get("OFFSETS") == 1 else 4 * walk.index
        passes = {"padded": 2 * ELEMENT * walk.cols, "image": declared["requested"]}.get(variant, 0)
        results = 0 if variant == "symmetric_sliced" else ELEMENT * walk.rows * vectors
        asked = offsets + (2 if half else ELEMENT) * walk.values + ELEMENT * (walk.vector + walk.sums) + results
        if variant != "image":
            assert declared["requested"] == asked + passes, name
        if variant == "tiles":
            assert declared["local"] == ELEMENT * walk.local, name
        if variant == "image":
            assert work["special"].get("fetch", 0) == walk.fetches, name
    assert ran


def test_most_of_a_far_diagonal_is_no_traffic(any_device: gpuopt.Device) -> None:
    """Half of these diagonals' places lie outside the matrix: whole buffers would be twice the compulsory bytes."""
    n, offsets = 999, list(range(-900, 901, 60))
    matrix = gpuopt.DiaMatrix((np.ones((len(offsets), n), np.float32), offsets), (n, n), device=any_device)
    x, out = (_core.empty((n,), np.dtype(np.float32), any_device) for _ in range(2))
    inside = sum(n - abs(o) for o in offsets)
    for variant in ("basic", "padded", "interior", "sliced", "symmetric_sliced"):
        dram = prepare_spmv(matrix, x, out, variant).work["bytes"]["dram"]
        assert dram == 4 * ((inside + n) // 2 + 2 * n if variant == "symmetric_sliced" else inside + 2 * n)
        assert dram < 0.65 * 4 * len(offsets) * n


def test_symmetric_slices_are_read_twice_and_their_sums_too(any_device: gpuopt.Device) -> None:
    """Of an entry a value and an element of x, and a quarter of a sum loaded and stored: 9 bytes read, 1 written."""
    n, upper = 50_000, list(range(1, 41))
    offsets = sorted({0, *upper, *(-o for o in upper)})
    matrix = gpuopt.DiaMatrix((np.ones((81, n), np.float32), offsets), (n, n), device=any_device)
    x, out = (_core.empty((n,), np.dtype(np.float32), any_device) for _ in range(2))
    work = prepare_spmv(matrix, x, out, "symmetric_sliced").work
    assert work["bytes"]["requested"] / (work["flops"] / 2) == pytest.approx(10, rel=0.03)


def test_vectors_of_which_one_at_a_time_is_taken(any_device: gpuopt.Device) -> None:
    """The matrix is compulsory once; each turn asks for all of it, and for the columns of x and y packed and back."""
    basic = complete("spmv", Configuration("basic"))
    alone, walk = planned("tall", basic, any_device)
    work, _ = planned("tall", basic, any_device, vectors=3)
    vectors = ELEMENT * (walk.rows + 53)
    results, copies = ELEMENT * walk.rows, 2 * vectors
    assert work["bytes"]["dram"] == alone["bytes"]["dram"] + 2 * compulsory_vectors(walk)
    assert work["bytes"]["requested"] == 3 * (alone["bytes"]["requested"] - results) + 3 * (results + copies)
    with_addend, _ = planned("tall", basic, any_device, beta=2.0)
    assert with_addend["bytes"]["dram"] == alone["bytes"]["dram"] + results


def compulsory_vectors(walk: Walk) -> int:
    alone = dataclasses.replace(walk, vectors=1)
    return compulsory(dataclasses.replace(alone, vectors=2), False, False) - compulsory(alone, False, False)
