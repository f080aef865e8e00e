"""``gpuopt.tmv``: a transposed matrix times a vector."""

from __future__ import annotations

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray, Prepared
from gpuopt.arrays import Array
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, levels_of
from gpuopt.remembered import remembered
from gpuopt.resolution import resolve
from gpuopt.selection import Selector, select


@checked
def tmv(
    A: np.ndarray | DeviceArray,
    v: Array,
    out: Array | None = None,
    *,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """Return ``A.T @ v``, a transposed matrix times a vector (Yang, Xiang, Mantor, Zhou 2012).

    Parameters
    ----------
    A
        (m, n), float32 or float64, NumPy array or DeviceArray. The rows of a NumPy array must be contiguous, but may be
        any distance apart, as in ``big[:, :100]``.
    v
        (m,), same dtype as A, C-contiguous; NumPy array or DeviceArray.
    out
        Array (n,) that receives the result and is returned. A DeviceArray must not be ``A`` or ``v``; a NumPy array may
        overlap either, for it is written when all is computed.
    variant
        A variant's name, a preset (``"paper:tlp_f2"``) or a Configuration; None takes the best one known for the
        device.
    device
        Where to run when both arrays are NumPy's.

    Returns
    -------
    NumPy array or DeviceArray, as ``v`` is: (n,), of the dtype of A.

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError

    Examples
    --------
    >>> gpuopt.tmv(np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2, np.float32))
    array([3., 5., 7.], dtype=float32)
    """
    held = next((array.device for array in (A, v) if isinstance(array, DeviceArray)), None)
    chosen = select(device) if held is None or device is not None else held
    dtype = _core.tmv_dtype(A)
    configuration = remembered("tmv", chosen, dtype, variant, lambda: resolve("tmv", chosen, dtype.name, variant))
    result: Array = _core.tmv(A, v, out, chosen, configuration.variant, levels_of(configuration))
    return result


def prepare_tmv(
    A: DeviceArray, v: DeviceArray, out: DeviceArray, variant: str | Configuration | None = None
) -> Prepared:
    """Build the product once and bind it to its arrays; arguments as in :func:`tmv`, all on one device.

    ``run()`` of the result computes it again with the values that A and v hold at that time; ``sample()`` measures it.
    Raises as :func:`tmv` does.
    """
    configuration = resolve("tmv", out.device, A.dtype.name, variant)
    return _core.prepare_tmv(A, v, out, configuration.variant, configuration.parameters)
