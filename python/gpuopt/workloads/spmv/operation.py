"""``gpuopt.spmv``: NumPy or device arrays in, the same kind out."""

from __future__ import annotations

from typing import Any

from gpuopt import _core
from gpuopt._core import DeviceArray, Prepared
from gpuopt.arrays import Array
from gpuopt.configuration import Configuration
from gpuopt.selection import Selector
from gpuopt.workloads.spmv.matrix import DiaMatrix, as_matrix


def spmv(
    A: Any,
    x: Array,
    y: Array | None = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    out: Array | None = None,
    transpose: bool = False,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """``alpha * A @ x + beta * y`` for a diagonal sparse matrix (Catanzaro 2010).

    Parameters
    ----------
    A
        SciPy ``dia_array`` or ``dia_matrix`` (m, n), float32 or float64, uploaded for this call; or a
        :class:`DiaMatrix`, which stays on its device and is the fast way to multiply more than once.
    x
        (n,) or (n, k), same dtype as A, C-contiguous; NumPy or DeviceArray. With ``transpose``, (m,) or (m, k).
    y
        Addend of the result's shape, never modified; needed when ``beta`` is not 0 and not read when it is.
    out
        Receives the result and is returned; must not be ``x``.
    variant
        A variant's name, a preset (``"paper:vectorized"``) or a Configuration; None takes the best one known for the
        device.
    device
        Where to run when A is a SciPy matrix and x a NumPy array.

    Returns
    -------
    Array of the kind of ``x``: (m,) or (m, k).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    if device is None and isinstance(x, DeviceArray) and not isinstance(A, DiaMatrix):
        device = x.device
    matrix = as_matrix(A, device)
    if transpose:
        matrix = matrix.T
    return matrix.product(x, y, alpha=float(alpha), beta=float(beta), out=out, variant=variant)


def prepare_spmv(
    A: DiaMatrix,
    x: DeviceArray,
    out: DeviceArray,
    variant: str | Configuration | None = None,
    *,
    y: DeviceArray | None = None,
    alpha: float = 1,
    beta: float = 0,
) -> Prepared:
    """The same product, built and bound once: ``run()`` repeats it on whatever ``x`` holds by then, ``sample()`` times
    it."""

    def plan(configuration: Configuration) -> Prepared:
        name, parameters = configuration.variant, configuration.parameters
        return _core.prepare_spmv(A._handle, x, y, float(alpha), float(beta), out, name, parameters)

    return A.planned(variant, len(x.shape) == 2 and x.shape[1] > 1, plan)
