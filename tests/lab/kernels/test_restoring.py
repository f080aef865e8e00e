"""What kernels change is put back from a copy on the device, or from the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import _core
from gpuopt.lab.kernels import restoring
from gpuopt.lab.kernels.restoring import Restorer, device_copy

LENGTHS = (1, 3, 4, 255, 256, 1031)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_copy_on_the_device_is_put_back(any_device: gpuopt.Device, length: int) -> None:
    values = np.arange(length, dtype=np.uint8)
    array = _core.to_device(np.zeros_like(values), any_device, True)
    put = device_copy(array, values, any_device)
    for byte in (0, 0xFF):
        array.fill_bytes(byte)
        put()
        assert np.array_equal(array.to_numpy(), values)
        assert array.guards_intact()


class Gpu:
    """What stands for a device with memory of its own."""

    type = "gpu"
    allocated_bytes = 0
    global_bytes = 1 << 40


def test_a_copy_is_made_once_for_the_same_values(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def copy(array: Any, values: np.ndarray, device: Any) -> Any:
        made.append(values)
        return device_copy(array, values, any_device)

    monkeypatch.setattr(restoring, "device_copy", copy)
    array = _core.to_device(np.zeros(9, np.float32), any_device)
    put, first, second = Restorer(Gpu()), np.ones(9, np.float32), np.full(9, 2, np.float32)  # type: ignore[arg-type]
    for values in (first, first, second, second):
        array.fill_bytes(0)
        put("x", array, values)
        assert np.array_equal(array.to_numpy(), values)
    assert [each is one for each, one in zip(made, (first, second), strict=True)] == [True, True]


def test_without_room_for_a_copy_the_host_gives_it(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(*given: Any) -> Any:
        raise gpuopt.DeviceMemoryError("no room")

    monkeypatch.setattr(restoring, "device_copy", no_room)
    array = _core.to_device(np.zeros(9, np.float32), any_device)
    put, values = Restorer(Gpu()), np.ones(9, np.float32)  # type: ignore[arg-type]
    for _ in range(2):
        array.fill_bytes(0)
        put("x", array, values)
        assert np.array_equal(array.to_numpy(), values)
