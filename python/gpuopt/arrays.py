"""Arrays on devices, and the type of array that operations take: NumPy's or a DeviceArray."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray
from gpuopt.checked import checked
from gpuopt.selection import Selector, select

Array = TypeVar("Array", np.ndarray, DeviceArray)


@checked
def to_device(a: np.ndarray, device: Selector = None) -> DeviceArray:
    """Copy a C-contiguous NumPy array of any real dtype and shape to a device; see :func:`gpuopt.use` for ``device``.

    Raises ArrayError (dtype or layout), DeviceMemoryError, NoDeviceError, ParameterError (no such device).
    """
    return _core.to_device(a, select(device))
