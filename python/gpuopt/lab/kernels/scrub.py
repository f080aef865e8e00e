"""Local memory filled with noise before a kernel is checked: it may hold what the last kernel left, zeros above all,
and a kernel that forgets to set it is right by luck."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, Error

TEXT = """
__kernel void scrub(__local uint* words, uint count, uint seed, __global uint* seen) {
    for (uint i = get_local_id(0); i < count; i += get_local_size(0)) words[i] = (i + 1u) * 2654435761u ^ seed;
    barrier(CLK_LOCAL_MEM_FENCE);
    // What is read may not be left out by a compiler.
    if (get_local_id(0) == 0) seen[get_group_id(0)] = words[seed % count];
}
"""
LOCAL = 64
GROUPS = 4  # a compute unit
KEPT_BACK = (0, 1024)  # bytes that a driver may need for itself


def scrubber(device: Device) -> Callable[[int, bool], None]:
    """What fills a device's local memory with noise of a seed, or with its other bits. A device that refuses all of it
    is asked for nearly all; one that refuses that too is left as it is."""
    groups = GROUPS * device.compute_units
    try:
        program = _core.build_program(device, TEXT, "scrub.cl", "")
        seen = _core.empty((groups,), np.dtype(np.uint32), device, False)
    except Error:
        return lambda seed, inverted: None

    def filled(count: int, seed: int, inverted: bool) -> None:
        word = np.uint32((seed * 40503 + 12345) & 0xFFFFFFFF)
        values = [(~word if inverted else word).tobytes(), seen]
        given = [count * 4, np.uint32(count).tobytes(), *values]
        _core.prepare_own(device, [(program, "scrub", (groups * LOCAL,), (LOCAL,), given)], 0, 0.0, {}).run()

    left = list(KEPT_BACK)

    def scrub(seed: int, inverted: bool) -> None:
        while left:
            try:
                return filled((device.local_bytes - left[0]) // 4, seed, inverted)
            except Error:
                del left[0]

    return scrub
