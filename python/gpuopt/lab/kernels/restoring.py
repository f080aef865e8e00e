"""What a kernel changes, put back before each timed run from a copy on the device: from the host it takes many times as
long as the run, where the two do not share their memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, Error

TEXT = """
kernel void put_back(global const uint* from, global uint* to, const ulong words, const ulong rest) {
    const ulong i = get_global_id(0);
    if (i < words) to[i] = from[i];
    else if (i < words + rest) {
        const ulong at = 3 * words + i;  // the byte that is i - words behind the last word
        ((global uchar*)to)[at] = ((global const uchar*)from)[at];
    }
}
"""
LOCAL = 64


def device_copy(array: DeviceArray, values: np.ndarray, device: Device) -> Callable[[], None]:
    """What puts these values into an array, from a copy of them on the device. Raises what a build and an allocation
    raise."""
    held = _core.to_device(values, device)
    words, rest = divmod(values.nbytes, 4)
    items = -(-(words + rest) // LOCAL) * LOCAL
    given: list[Any] = [held, array, np.uint64(words).tobytes(), np.uint64(rest).tobytes()]
    program = _core.build_program(device, TEXT, "put_back.cl", "")
    return _core.prepare_own(device, [(program, "put_back", (items,), (LOCAL,), given)], 0, 0.0, {}).run


class Restorer:
    """Puts values into arrays of a device: from a copy there, if it has memory of its own, if half of that is free for
    candidates that are still to come, and if a compiler builds this; else from the host. Checks of results take no
    part: they begin with what the host holds."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.copies: dict[str, tuple[np.ndarray, Callable[[], None]]] = {}

    def __call__(self, name: str, array: DeviceArray, values: np.ndarray) -> None:
        """Puts the values, of an array of this name, into it."""
        if self.device.type == "cpu" or not values.nbytes:
            array.copy_from(values)
            return
        kept = self.copies.get(name)
        if kept is None or kept[0] is not values:
            kept = self.copies[name] = (values, self._from_here(array, values))
        kept[1]()

    def _from_here(self, array: DeviceArray, values: np.ndarray) -> Callable[[], None]:
        if self.device.allocated_bytes + values.nbytes <= self.device.global_bytes // 2:
            with suppress(Error):
                return device_copy(array, values, self.device)
        return lambda: array.copy_from(values)
