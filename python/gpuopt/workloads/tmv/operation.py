"""``gpuopt.tmv``: a transposed matrix times a vector."""

from __future__ import annotations

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray, Prepared
from gpuopt.arrays import Array
from gpuopt.configuration import Configuration, resolve
from gpuopt.selection import Selector, select


def tmv(
    A: np.ndarray | DeviceArray,
    v: Array,
    out: Array | None = None,
    *,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """``A.T @ v``: the sums of A's rows, each times its element of v (Yang, Xiang, Mantor, Zhou 2012).

    Parameters
    ----------
    A
        (m, n), float32 or float64, NumPy or DeviceArray. Rows of a NumPy array may stand any way apart, such as those
        of ``big[:, :100]``; each row is contiguous.
    v
        (m,), same dtype as A, C-contiguous; NumPy or DeviceArray.
    out
        Receives the result and is returned; must not be ``A`` or ``v``.
    variant
        A variant's name, a preset (``"paper:tlp_f2"``) or a Configuration; None takes the best one known for the
        device.
    device
        Where to run when both arrays are NumPy's.

    Returns
    -------
    Array of the kind of ``v``: (n,).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    held = next((array.device for array in (A, v) if isinstance(array, DeviceArray)), None)
    chosen = select(device) if held is None or device is not None else held
    configuration = resolve("tmv", chosen, _core.tmv_dtype(A).name, variant)
    result: Array = _core.tmv(A, v, out, chosen, configuration.variant, configuration.parameters)
    return result


def prepare_tmv(
    A: DeviceArray, v: DeviceArray, out: DeviceArray, variant: str | Configuration | None = None
) -> Prepared:
    """The same product, built and bound once: ``run()`` repeats it on whatever A and v hold by then, ``sample()`` times
    it."""
    configuration = resolve("tmv", out.device, A.dtype.name, variant)
    return _core.prepare_tmv(A, v, out, configuration.variant, configuration.parameters)
