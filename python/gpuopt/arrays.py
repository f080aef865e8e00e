"""Arrays on devices: how they get there, and what operations take."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray
from gpuopt.selection import Selector, select

Array = TypeVar("Array", np.ndarray, DeviceArray)


def to_device(a: np.ndarray, device: Selector = None) -> DeviceArray:
    """Copies a C-contiguous array of any real dtype to a device. Raises ArrayError, DeviceMemoryError."""
    return _core.to_device(a, select(device))
