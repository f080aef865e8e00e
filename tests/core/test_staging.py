"""Copies through slots of pinned memory, which GPUs have: here on every device, with small slots."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, DeviceMemoryError, UnsupportedError, _core

SLOT = 16384


@pytest.fixture
def staged(device: gpuopt.Device) -> Iterator[gpuopt.Device]:
    _core.set_staging(device, True, SLOT, 3, 4)
    yield device
    _core.set_staging(device, device.type != "cpu")


def random_bytes(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, count, np.uint8)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("threads", [1, 4])
def test_sizes_around_slots(device: gpuopt.Device, staged: gpuopt.Device, slots: int, threads: int) -> None:
    _core.set_staging(device, True, SLOT, slots, threads)
    for count in (SLOT // 4, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT - 1, 3 * SLOT, 3 * SLOT + 1, 20 * SLOT + 5):
        given, before = random_bytes(count), _core.slots_filled(device)
        array = gpuopt.to_device(given, device)
        pieces = _core.slots_filled(device) - before
        assert pieces >= count / SLOT
        np.testing.assert_array_equal(array.to_numpy(), given)
        assert _core.slots_filled(device) == before + 2 * pieces
    short = random_bytes(SLOT // 4 - 1)
    before = _core.slots_filled(device)
    np.testing.assert_array_equal(gpuopt.to_device(short, device).to_numpy(), short)
    assert _core.slots_filled(device) == before


def test_rows_in_any_order(staged: gpuopt.Device) -> None:
    """GEMM takes rows apart, backwards and the same one again; its result goes to rows apart, and nowhere else."""
    rng = np.random.default_rng(1)
    big, B = rng.standard_normal((300, 111)).astype(np.float32), rng.standard_normal((70, 90)).astype(np.float32)
    for A in (big[:, 5:75], big[::-1, :70], big[::-2, 30:100], np.broadcast_to(big[7, :70], (300, 70))):
        before = _core.slots_filled(staged)
        whole = np.full((len(A), 100), 7, np.float32)
        gpuopt.gemm(A, B, out=whole[:, 3:93], device=staged)
        assert _core.slots_filled(staged) > before
        np.testing.assert_allclose(whole[:, 3:93], A.astype(np.float64) @ B, atol=1e-4)
        assert (whole[:, :3] == 7).all()
        assert (whole[:, 93:] == 7).all()


def test_threads_share_the_slots(staged: gpuopt.Device) -> None:
    wrong: list[int] = []

    def copy(number: int) -> None:
        given = random_bytes(5 * SLOT + number)
        for _ in range(10):
            if not (gpuopt.to_device(given, staged).to_numpy() == given).all():
                wrong.append(number)

    threads = [threading.Thread(target=copy, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_refused_call_leaves_the_slots_usable(staged: gpuopt.Device) -> None:
    with pytest.raises(DeviceMemoryError):
        _core.empty((1 << 45,), np.dtype(np.uint8), staged)
    with pytest.raises(ArrayError):
        gpuopt.gemm(np.ones((9000, 2), np.float32), np.ones((3, 2), np.float32), device=staged)
    given = random_bytes(7 * SLOT)
    np.testing.assert_array_equal(gpuopt.to_device(given, staged).to_numpy(), given)


def test_cpu_devices_take_no_slot(device: gpuopt.Device) -> None:
    before = _core.slots_filled(device)
    given = np.ones(1 << 20, np.float32)
    gpuopt.to_device(given, device).to_numpy()
    assert (_core.slots_filled(device) == before) == (device.type == "cpu")


def test_the_environment_sets_it(any_device: gpuopt.Device) -> None:
    """In a process of its own, which ends as it should with the threads that copied."""
    program = (
        "import gpuopt, numpy as np\nd = gpuopt.devices()[0]\na = np.arange(1 << 20)\n"
        "print((gpuopt.to_device(a, d).to_numpy() == a).all(), gpuopt._core.slots_filled(d))"
    )
    for setting, filled in (("1", True), ("0", False)):
        environment = os.environ | {"GPUOPT_STAGING": setting}
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environment, check=True
        )
        correct, slots = ran.stdout.split()
        assert correct == "True"
        assert (int(slots) > 0) == filled


def test_pinned_arrays(device: gpuopt.Device) -> None:
    array = gpuopt.pinned_empty((3, 1000), np.float64, device)
    assert (array.shape, array.dtype, array.flags.c_contiguous) == ((3, 1000), np.float64, True)
    array[:] = np.arange(3000).reshape(3, 1000)
    part = array[1]
    del array
    np.testing.assert_array_equal(gpuopt.to_device(part, device).to_numpy(), np.arange(1000, 2000))
    assert gpuopt.pinned_empty(5, device=device).dtype == np.float32
    assert gpuopt.pinned_empty((0, 4), device=device).shape == (0, 4)
    with pytest.raises(ArrayError, match=r"shape: \(-1,\) is negative"):
        gpuopt.pinned_empty(-1, device=device)
    for shape in ((0, 2**62), (1,) * 65, (1,) * 200_000):
        with pytest.raises(ArrayError, match=r"^shape: NumPy has no such array \(.*\); give fewer and shorter lengths"):
            gpuopt.pinned_empty(shape, np.float64, device)
    with pytest.raises(UnsupportedError, match="complex"):
        gpuopt.pinned_empty(3, np.complex64, device)


def test_results_are_used_again(device: gpuopt.Device) -> None:
    """A result outlives its array, and its memory is the next one's."""
    array = gpuopt.to_device(np.full(3 << 20, 5, np.float32), device)
    first = array.to_numpy()
    place = first.ctypes.data
    del first
    second = array.to_numpy()
    assert second.ctypes.data == place
    del array
    assert (second == 5).all()
