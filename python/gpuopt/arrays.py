"""Arrays on devices, and the type of array that operations take: NumPy's or a DeviceArray."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from gpuopt import _core
from gpuopt._core import DeviceArray, ParameterError
from gpuopt.checked import checked
from gpuopt.selection import Selector, select

Array = TypeVar("Array", np.ndarray, DeviceArray)


@checked
def to_device(a: np.ndarray, device: Selector = None) -> DeviceArray:
    """Copy a C-contiguous NumPy array of any real dtype and shape to a device; see :func:`gpuopt.use` for ``device``.

    Raises ArrayError (dtype or layout), DeviceMemoryError, NoDeviceError, ParameterError (no such device).
    """
    return _core.to_device(a, select(device))


@checked
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32, device: Selector = None) -> np.ndarray:
    """Return a NumPy array of undefined values in memory that the device reads and writes directly.

    Copies between it and the device need no copy on the host. Making one takes longer than such a copy, so it is of use
    for arrays that are used more than once. On a CPU device, which works in any memory, it is an array on large pages.

    Parameters
    ----------
    shape
        Lengths, at least 0; a whole number stands for one.
    dtype
        A real dtype of NumPy's.
    device
        The device that it is for; see :func:`gpuopt.use`.

    Raises ArrayError (a negative length, a dtype without an OpenCL type), UnsupportedError (complex numbers),
    DeviceMemoryError, OpenCLError, NoDeviceError, ParameterError (no such device).
    """
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    return _core.pinned_empty(lengths, np.dtype(dtype), select(device))


def factor(name: str, given: float, dtype: str | np.dtype[Any]) -> float:
    """``given`` as a float, the factor of arrays of ``dtype``. Raises ParameterError for a finite number that would be
    infinite there."""
    value = float(given)
    if abs(value) > _LARGEST and math.isfinite(value) and str(dtype) == "float32":
        raise ParameterError(
            f"{name}: it is {value:g}, float32 ends at {_LARGEST:.4g}; scale the arrays instead, or give float64 arrays"
        )
    return value


_LARGEST = float(np.finfo(np.float32).max)
