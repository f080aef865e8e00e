"""What plain calls leave for later ones: plans, buffers and scratch. A repeated call makes nothing, and no call sees
what another left."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import _core

MADE = ("plans_made", "buffers_made", "kernels_made", "programs_built", "fills")


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture(autouse=True)
def nothing_kept(device: gpuopt.Device) -> Iterator[None]:
    _core.drop_kept(device)
    yield
    _core.drop_kept(device)


def made_by(device: gpuopt.Device, call: Callable[[], object]) -> dict[str, int]:
    before = _core.kept_counts(device)
    call()
    after = _core.kept_counts(device)
    return {name: after[name] - before[name] for name in MADE}


def calls(device: gpuopt.Device) -> dict[str, Callable[[], gpuopt.DeviceArray]]:
    A, B = (gpuopt.to_device(drawn(70, 70, seed=seed), device) for seed in (1, 2))
    v = gpuopt.to_device(drawn(70), device)
    M = gpuopt.DiaMatrix((drawn(3, 70), np.array([-1, 0, 2])), (70, 70), device=device)
    return {
        "gemm": lambda: gpuopt.gemm(A, B),
        "tmv": lambda: gpuopt.tmv(A, v),
        "spmv": lambda: gpuopt.spmv(M, v),
    }


@pytest.mark.parametrize("name", ["gemm", "tmv", "spmv"])
def test_a_repeated_call_makes_nothing_and_gives_the_same_bits(device: gpuopt.Device, name: str) -> None:
    call = calls(device)[name]
    first = call().to_numpy()
    assert made_by(device, lambda: np.testing.assert_array_equal(call().to_numpy(), first)) == dict.fromkeys(MADE, 0)


def test_no_call_reads_what_another_left(device: gpuopt.Device) -> None:
    shapes = [*itertools.permutations((17, 64, 130)), (1, 512, 3)]
    arrays = [(drawn(m, k), drawn(k, n, seed=2)) for m, n, k in shapes]
    there = [tuple(gpuopt.to_device(x, device) for x in pair) for pair in arrays]
    fresh = [gpuopt.gemm(a, b, device=device) for a, b in arrays]
    for _ in range(2):
        for (a, b), wanted in zip(there, fresh, strict=True):
            np.testing.assert_array_equal(gpuopt.gemm(a, b).to_numpy(), wanted)
            _core.poison_kept(device)


def test_what_changes_between_two_calls_counts(device: gpuopt.Device) -> None:
    a, b, c = (drawn(40, 40, seed=seed) for seed in (1, 2, 3))
    A, B, C = (gpuopt.to_device(x, device) for x in (a, b, c))
    out = gpuopt.to_device(np.zeros_like(a), device)
    options: list[dict[str, Any]] = [
        {},
        {"alpha": 2.0},
        {"alpha": 0.0},
        {"C": C, "beta": 0.5},
        {"out": out},
        {"transpose_a": True},
        {"transpose_b": True},
        {"alpha": 3.0, "C": C, "beta": 1.0, "out": out},
    ]
    for given in options * 2:
        one, other = (x.T if given.get(key) else x for x, key in ((a, "transpose_a"), (b, "transpose_b")))
        wanted = given.get("alpha", 1.0) * one.astype(np.float64) @ other + given.get("beta", 0.0) * c
        np.testing.assert_allclose(gpuopt.gemm(A, B, **given).to_numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_arrays_anywhere_in_memory_do_not_take_each_others_plan(any_device: gpuopt.Device) -> None:
    """CPUs read NumPy arrays where they lie: two of one shape and one alignment begin at different places."""
    a, b, v = drawn(33, 65), drawn(65, 33, seed=2), drawn(33, seed=3)
    product, sums = a.astype(np.float64) @ b, v.astype(np.float64) @ a
    for shift in range(32):
        one, other = placed(a, shift), placed(b, 3 * shift % 32)
        np.testing.assert_allclose(gpuopt.tmv(one, v, device=any_device), sums, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(gpuopt.gemm(one, other, device=any_device), product, rtol=1e-4, atol=1e-4)


def placed(array: np.ndarray, shift: int) -> np.ndarray:
    """A copy that begins `shift` elements after a multiple of 128 bytes."""
    room = np.zeros(array.size + 64, np.float32)
    begin = -(room.ctypes.data // 4) % 32 + shift
    copy = room[begin : begin + array.size].reshape(array.shape)
    copy[...] = array
    return copy


def test_arrays_that_are_one_are_told_from_arrays_that_are_two(device: gpuopt.Device) -> None:
    a, b = drawn(40, 40), drawn(40, 40, seed=2)
    A, B = gpuopt.to_device(a, device), gpuopt.to_device(b, device)
    for one, other in ((A, A), (A, B), (B, B), (B, A)):
        wanted = one.to_numpy().astype(np.float64) @ other.to_numpy()
        np.testing.assert_allclose(gpuopt.gemm(one, other).to_numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_a_result_outlives_the_plan_and_the_next_results(device: gpuopt.Device) -> None:
    A, B = (gpuopt.to_device(drawn(40, 40, seed=seed), device) for seed in (1, 2))
    results = [gpuopt.gemm(A, B), gpuopt.gemm(B, A), gpuopt.gemm(A, A)]
    held = [result.to_numpy() for result in results]
    _core.poison_kept(device)
    _core.drop_kept(device)
    gpuopt.gemm(B, B)
    for result, wanted in zip(results, held, strict=True):
        np.testing.assert_array_equal(result.to_numpy(), wanted)


def test_threads_do_not_share_a_plan(device: gpuopt.Device) -> None:
    pairs = [(drawn(48, 48, seed=seed), drawn(48, 48, seed=seed + 50)) for seed in range(8)]
    there = [tuple(gpuopt.to_device(x, device) for x in pair) for pair in pairs]
    wrong: list[object] = []

    def multiply(number: int) -> None:
        A, B = there[number]
        wanted = pairs[number][0].astype(np.float64) @ pairs[number][1]
        for _ in range(20):
            got = gpuopt.gemm(A, B).to_numpy()
            if not np.allclose(got, wanted, rtol=1e-4, atol=1e-4):
                wrong.append(number)

    threads = [threading.Thread(target=multiply, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_edited_kernels_get_plans_of_their_own(
    device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    A = gpuopt.to_device(np.ones((8, 8), np.float32), device)
    for _ in range(2):
        gpuopt.gemm(A, A, variant="naive")
    source = _core.kernel_source("gemm/naive.cl")
    edited = tmp_path / "gemm" / "naive.cl"
    edited.parent.mkdir()
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    for number in (2, 3):
        edited.write_text(f"#define get_global_id(d) (get_global_id(d) + 0 * {number})\n" + source)
        made = made_by(device, lambda: gpuopt.gemm(A, A, variant="naive"))
        assert (made["plans_made"], made["programs_built"]) == (1, 1)
    monkeypatch.delenv("GPUOPT_KERNEL_DIR")
    np.testing.assert_array_equal(gpuopt.gemm(A, A, variant="naive").to_numpy(), 8)


def test_edited_kernels_of_products_by_diagonals_and_of_arithmetic_are_heard(
    device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Matrices keep plans of products with NumPy arrays, and devices what computes with arrays there."""
    ones = np.ones(4, np.float32)
    matrix, x = gpuopt.DiaMatrix((ones[None], [0]), (4, 4), device=device), gpuopt.to_device(ones, device)

    def results() -> list[float]:
        return [float(gpuopt.spmv(matrix, ones, variant="basic")[0]), float((x + x).to_numpy()[0])]

    assert results() == [1, 2]
    edits = {
        "spmv/basic.cl": ("accumulator = 0;", "accumulator = 100;"),
        "common/arithmetic.cl": ("b * REAL_READ4(y))", "b * REAL_READ4(y) + 100)"),
    }
    for path, (old, new) in edits.items():
        source = _core.kernel_source(path)
        assert old in source
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(source.replace(old, new))
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", str(tmp_path))
    assert results() == [101, 102]
    monkeypatch.delenv("GPUOPT_KERNEL_DIR")
    assert results() == [1, 2]


def test_what_is_kept_counts_as_free_and_goes_before_a_call_is_refused(device: gpuopt.Device) -> None:
    held = device.allocated_bytes
    A = gpuopt.to_device(drawn(300, 300), device)
    gpuopt.gemm(A, A)
    counts = _core.kept_counts(device)
    assert counts["pool_bytes"] > 0
    assert counts["plans"] == 1
    del A
    assert device.allocated_bytes == held
    shape = (device.global_bytes // 4 + 1,)
    with pytest.raises(gpuopt.DeviceMemoryError):
        _core.empty(shape, np.dtype(np.float32), device)
    assert device.allocated_bytes == held


def test_plans_and_their_memory_are_bounded(device: gpuopt.Device) -> None:
    for n in range(1, 41):
        A = gpuopt.to_device(drawn(n, n), device)
        gpuopt.gemm(A, A)
    counts = _core.kept_counts(device)
    assert counts["plans"] <= 32
    assert counts["pool_bytes"] <= device.global_bytes // 8
