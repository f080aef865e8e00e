"""The work that GEMM's plans declare, held against loops walked tile by tile, at sizes that fill no tile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, _core
from gpuopt.configuration import complete
from gpuopt.workloads.gemm.operation import prepare_gemm

M, N, K = 70, 45, 133
ELEMENT = 4


def lanes(device: gpuopt.Device) -> int:
    """Work-items whose reads of one address of local memory are one."""
    return 32 if "nvidia" in device.platform.lower() else 64


def work_of(
    variant: str, device: gpuopt.Device, beta: float = 0, m: int = M, n: int = N, k: int = K, **levels: int
) -> tuple[dict[str, Any], dict[str, int]]:
    a, b, c, out = (_core.empty(s, np.dtype(np.float32), device) for s in ((m, k), (k, n), (m, n), (m, n)))
    configuration = complete("gemm", Configuration(variant, **levels))
    work: Any = prepare_gemm(a, b, out, configuration, **({"C": c, "beta": beta} if beta else {})).work
    assert work["flops"] == 2 * m * n * k
    assert work["bytes"]["dram"] == ELEMENT * (m * k + k * n + m * n * (2 if beta else 1))
    return work, configuration.parameters


def steps(extent: int, step: int) -> Iterator[tuple[int, int]]:
    """The beginning of each part and how much of it is there."""
    for at in range(0, extent, step):
        yield at, min(step, extent - at)


def staged(down: int, across: int, deep: int) -> tuple[int, int]:
    """What whole tiles of the result load of A and B: elements that are there; and how many elements the tiles hold."""
    loaded = written = 0
    for _, rows in steps(M, down):
        for _, columns in steps(N, across):
            for _, depth in steps(K, deep):
                loaded += depth * (rows + columns)
                written += deep * (down + across)
    return loaded, written


@pytest.mark.parametrize("beta", [0, 2.0])
def test_elements_are_loaded_for_each_product(any_device: gpuopt.Device, beta: float) -> None:
    results = M * N * (2 if beta else 1)
    for variant in ("naive", "reduced", "unrolled"):
        work, _ = work_of(variant, any_device, beta)
        assert work["bytes"]["requested"] == ELEMENT * (2 * M * N * K + results)
        assert work["special"] == {}


@pytest.mark.parametrize(("variant", "rows"), [("vectorized", 1), ("multiple_output", 8)])
def test_vectors_are_loaded_whole_beyond_the_edges(any_device: gpuopt.Device, variant: str, rows: int) -> None:
    work, _ = work_of(variant, any_device)
    items = len(list(steps(M, rows))) * len(list(steps(N, 4)))
    assert work["bytes"]["requested"] == ELEMENT * (items * K * (rows + 4) + M * N)


@pytest.mark.parametrize(("x", "y"), [(16, 16), (32, 8)])
def test_a_tile_is_loaded_written_and_read(any_device: gpuopt.Device, x: int, y: int) -> None:
    """Work-items of a subgroup that lie in one row read one element of A, those of one column one of B."""
    work, _ = work_of("tile", any_device, X=x, Y=y)
    loaded, written = staged(y, x, x)
    read = 0
    subgroup = min(lanes(any_device), x * y)
    for _ in steps(M, y):
        for _ in steps(N, x):
            for _ in steps(K, x):
                for first in range(0, x * y, subgroup):
                    items = range(first, first + subgroup)
                    read += x * (len({i // x for i in items}) + len({i % x for i in items}))
    assert work["bytes"]["requested"] == ELEMENT * (loaded + M * N)
    assert work["bytes"]["local"] == ELEMENT * (written + read)


def test_register_tiles_are_written_and_parts_of_k_too(any_device: gpuopt.Device) -> None:
    levels = {"TILE_M": 64, "TILE_N": 32, "WORK_M": 4, "WORK_N": 4, "TILE_K": 16}
    work, _ = work_of("register_tile", any_device, **levels, SPLIT=1)
    loaded, written = staged(64, 32, 16)
    items, groups = 64 // 4 * (32 // 4), len(list(steps(M, 64))) * len(list(steps(N, 32)))
    read = groups * len(list(steps(K, 16))) * 16 * items // lanes(any_device) * (4 * 4 + 8 * 4)
    assert work["bytes"]["requested"] == ELEMENT * (loaded + M * N)
    assert work["bytes"]["local"] == ELEMENT * (written + read)
    # Two parts of 80 and 53 of k: each writes its sums, whose rows a pass reads in whole vectors of four.
    split, _ = work_of("register_tile", any_device, **levels, SPLIT=2)
    assert split["bytes"]["requested"] == ELEMENT * (loaded + M * N + 2 * M * (N + 48))
    assert split["bytes"]["local"] == work["bytes"]["local"]
    # With PASS=1, A lies along k and B's rows begin anywhere: both are read, and written once more.
    turned, _ = work_of("register_tile", any_device, **levels, SPLIT=1, PASS=1)
    assert turned["bytes"]["requested"] == ELEMENT * (loaded + M * N + 2 * (M * K + K * N))


@pytest.mark.parametrize("queues", [0, 1])
def test_constant_panels_are_padded(any_device: gpuopt.Device, queues: int) -> None:
    work, level = work_of("constant", any_device, HEIGHT=8, DEPTH=32, TILES=1, QUEUES=queues)
    columns, tall, panels = 0, 0, len(list(steps(K, 32)))
    for _ in steps(M, level["HEIGHT"]):
        tall += level["HEIGHT"]
        columns += N * K
    written = tall * panels * 32
    passes = M * K + written * (3 if queues else 1)
    assert work["bytes"]["requested"] == ELEMENT * (columns + passes + M * N * (2 * panels - 1))
    assert work["bytes"]["constant"] == ELEMENT * columns * 8


@pytest.mark.parametrize("beta", [0, 2.0])
def test_packed_panels_are_walked(any_device: gpuopt.Device, beta: float) -> None:
    levels = {"ROWS": 4, "VECTORS": 2, "WIDTH": 4, "DEPTH": 128, "PANELS": 1, "ITEMS": 1}
    work, _ = work_of("packed", any_device, beta, **levels)
    tall, wide = -(-M // 4) * 4, -(-N // 8) * 8
    down = (work["bytes"]["local"] / ELEMENT - tall // 4 * wide * K) / (K * N)
    assert down == round(down) >= 1
    parts, results = 2, M * N * (2 if beta else 1)
    assert work["bytes"]["requested"] == ELEMENT * (
        M * K + tall * K * (1 + wide // 8) + down * K * N + 2 * M * N * (parts - 1) + results
    )


@pytest.mark.parametrize(("kind", "products", "parts", "per"), [(0, 3, 2, 8), (1, 6, 3, 8), (2, 1, 1, 4)])
def test_split_operands_are_written(device: gpuopt.Device, kind: int, products: int, parts: int, per: int) -> None:
    try:
        work, level = work_of("tensor", device, TYPE=kind, PRODUCTS=products, SPLIT=1)
    except UnsupportedError:
        pytest.skip("no tensor cores here")
    tm, tn, planes = level["TILE_M"], level["TILE_N"], -(-K // (2 * level["STEPS"] * per)) * 2 * level["STEPS"]
    row = planes * parts * 16
    down, across = -(-M // tm), -(-N // tn)
    copied = down * across * (tm + tn) * row
    read = down * across * row * (tm * (tn // level["WARP_N"]) + tn * (tm // level["WARP_M"]))
    operands = (M + N) * K * ELEMENT * (2 if kind == 0 else 1) + (down * tm + across * tn) * row
    assert work["bytes"]["requested"] == copied + operands + ELEMENT * M * N
    assert work["bytes"]["local"] == copied + read
