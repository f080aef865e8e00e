"""Products of NumPy arrays whose rows go to the device and back while it multiplies others: GPUs do so with large
arrays, here every device with small slots of staging memory."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, DeviceMemoryError, _core

SLOT = 4096


@pytest.fixture
def staged(device: gpuopt.Device) -> Iterator[gpuopt.Device]:
    _core.set_staging(device, True, SLOT, 3, 2, 8 * SLOT, beside=0)
    yield device
    _core.set_staging(device, device.type != "cpu")


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Integers whose products float32 holds exactly."""
    return rng.integers(-4, 5, shape).astype(np.float32)


def uploads(trace: gpuopt.trace) -> int:
    return sum(span.name == "upload" for span in trace.spans)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("m", [257, 513, 700, 1024, 1500])
def test_rows_that_do_and_do_not_divide(staged: gpuopt.Device, m: int, transpose_a: bool, transpose_b: bool) -> None:
    rng = np.random.default_rng(m)
    A, B = whole(rng, m, 67), whole(rng, 67, 130)
    given = A.T.copy() if transpose_a else A, B.T.copy() if transpose_b else B
    with gpuopt.trace() as trace:
        got = gpuopt.gemm(*given, transpose_a=transpose_a, transpose_b=transpose_b, device=staged)
    np.testing.assert_array_equal(got, A @ B)
    assert uploads(trace) == 1 + -(-m // 256)


def test_addends_and_rows_that_stand_apart(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(2)
    big, wide, B, C = whole(rng, 1300, 140), whole(rng, 90, 700), whole(rng, 60, 90), whole(rng, 600, 200)
    addend = C[:, 5:95]
    same = np.broadcast_to(big[3, :60], (600, 60))
    for A, transposed in (
        *((A, False) for A in (big[:600, 7:67], big[::-2, :60][:600], same)),
        *((A, True) for A in (wide[5:65, 9:609], wide[:60][::-1, :600])),
    ):
        expected = (A.T if transposed else A) @ B
        out = np.full((600, 120), 7, np.float32)
        with gpuopt.trace() as trace:
            got = gpuopt.gemm(A, B, addend, alpha=2, beta=3, out=out[:, 20:110], transpose_a=transposed, device=staged)
        assert uploads(trace) > 3
        np.testing.assert_array_equal(got, 2 * expected + 3 * addend)
        assert (out[:, :20] == 7).all()
        assert (out[:, 110:] == 7).all()


def test_each_variant_multiplies_rows_like_the_whole(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(3)
    A, B = whole(rng, 520, 80), whole(rng, 80, 96)
    for variant in gpuopt.variants("gemm"):
        try:
            got = gpuopt.gemm(A, B, variant=variant.name, device=staged)
        except gpuopt.UnsupportedError:
            continue
        np.testing.assert_array_equal(got, A @ B, err_msg=str(variant))


def test_a_matrix_times_itself_and_doubles(staged: gpuopt.Device) -> None:
    A = whole(np.random.default_rng(4), 600, 600)
    np.testing.assert_array_equal(gpuopt.gemm(A, A, device=staged), A @ A)
    if staged.fp64:
        np.testing.assert_array_equal(gpuopt.gemm(A.astype(float), A.astype(float), device=staged), A @ A)


def test_calls_from_threads_and_other_calls_between(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(5)
    pairs = [(whole(rng, 600 + 31 * i, 64), whole(rng, 64, 80)) for i in range(4)]
    wrong: list[int] = []

    def work(number: int) -> None:
        A, B = pairs[number]
        for _ in range(5):
            small = gpuopt.gemm(gpuopt.to_device(A[:8], staged), gpuopt.to_device(B, staged)).to_numpy()
            if not ((gpuopt.gemm(A, B, device=staged) == A @ B).all() and (small == A[:8] @ B).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_second_call_makes_no_plan_and_no_memory(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(6)
    A, B = whole(rng, 768, 64), whole(rng, 64, 96)
    gpuopt.gemm(A, B, device=staged)
    before = _core.kept_counts(staged)
    gpuopt.gemm(A, B, device=staged)
    after = _core.kept_counts(staged)
    assert after["plans_made"] == before["plans_made"]
    assert after["kernels_made"] == before["kernels_made"]


def test_after_an_error_in_the_middle_the_next_call_is_right(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(7)
    A, B = whole(rng, 1500, 80), whole(rng, 80, 96)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in (1e-4, 1e-3, 3e-3, 1e-2):
            signal.setitimer(signal.ITIMER_REAL, delay)
            with suppress(KeyboardInterrupt):
                while True:
                    gpuopt.gemm(A, B, device=staged)
            np.testing.assert_array_equal(gpuopt.gemm(A, B, device=staged), A @ B)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_into_memory_that_the_device_writes_directly(staged: gpuopt.Device) -> None:
    rng = np.random.default_rng(8)
    A, B = whole(rng, 900, 80), whole(rng, 80, 96)
    out = gpuopt.pinned_empty((900, 96), "float32", staged)
    assert gpuopt.gemm(A, B, out=out, device=staged) is out
    np.testing.assert_array_equal(out, A @ B)


def test_what_is_refused_still_is(staged: gpuopt.Device) -> None:
    A = np.ones((600, 600), np.float32)
    with pytest.raises(ArrayError, match="out: it shares memory with A"):
        gpuopt.gemm(A, A.copy(), out=A, device=staged)
    with pytest.raises(ArrayError, match="B"):
        gpuopt.gemm(A, np.ones((599, 3), np.float32), device=staged)
    rows = staged.max_alloc_bytes // 4 // (1 << 20) + 1
    B = np.broadcast_to(np.float32(1), (rows, 1 << 20))
    with pytest.raises((DeviceMemoryError, ArrayError)):
        gpuopt.gemm(np.broadcast_to(np.float32(1), (600, rows)).copy(), B, device=staged)
    np.testing.assert_array_equal(gpuopt.gemm(A, A, device=staged), A @ A)
