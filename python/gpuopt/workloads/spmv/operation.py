"""``gpuopt.spmv``: products with diagonal sparse matrices."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import DeviceArray, Prepared
from gpuopt.arrays import Array, factor
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.selection import Selector
from gpuopt.workloads.spmv.diagonals import is_narrow, refuse_other
from gpuopt.workloads.spmv.matrix import DiaMatrix, as_matrix
from gpuopt.workloads.spmv.through_scipy import is_sparse

_log = logging.getLogger(__name__)
UNPACKED = Configuration("unpacked")  # packing takes longer than a product


@checked
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
    """Return ``alpha * A @ x + beta * y`` for a sparse matrix A stored by diagonals (Catanzaro 2010).

    Parameters
    ----------
    A
        SciPy ``dia_array`` or ``dia_matrix`` (m, n), float32 or float64, which a GPU gets uploaded for this call, and a
        CPU reads in place where its data are as wide as it is; or a :class:`DiaMatrix`, which stays on its device in
        the form that its products want. Use the latter to multiply more than once. What data narrower than the matrix
        leave out of a diagonal counts as stored zeros: Inf or NaN in x makes NaN there, where SciPy has 0.
    x
        (n,) or (n, k), same dtype as A, C-contiguous; NumPy or DeviceArray. With ``transpose``, (m,) or (m, k).
    y
        Addend of the result's shape, not modified unless it is ``out``. It is needed where ``beta`` is not 0, and not
        read where it is 0. (A and x are read whatever ``alpha`` is: where it is 0, their Inf and NaN make NaN.)
    out
        Array that receives the result and is returned; may be ``y``. A DeviceArray must not be ``x``, nor share a part
        of ``y``'s memory; a NumPy array may overlap any operand, for it is written when all is computed.
    variant
        A variant's name, a preset (``"paper:vectorized"``) or a Configuration; None takes the best one known for the
        device, and ``unpacked`` where a CPU reads a SciPy matrix in place to multiply it by one vector.
    device
        Where to run when A is a SciPy matrix and x a NumPy array.

    Returns
    -------
    NumPy array or DeviceArray, as ``x`` is: (m,) or (m, k), of the dtype of A; with ``transpose``, (n,) or (n, k).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError

    Examples
    --------
    >>> diagonals, x = np.array([[2, 2, 2], [-1, -1, -1]], np.float32), np.array([1, 2, 3], np.float32)
    >>> A = gpuopt.DiaMatrix((diagonals, [0, 1]), (3, 3))
    >>> gpuopt.spmv(A, x)
    array([0., 1., 6.], dtype=float32)
    >>> gpuopt.spmv(A, x, x, alpha=2, beta=1, transpose=True)
    array([ 5.,  8., 11.], dtype=float32)
    """
    if not isinstance(A, DiaMatrix):
        device = _device_of_other(A, x, device)
    once = variant is None and _may_be_read_in_place(A, x, out)
    matrix = as_matrix(A, device, once=once)
    if once and matrix.device.type == "cpu":
        variant = UNPACKED
        _log.debug("spmv %s on %s: %s (it is read in place)", matrix.dtype, matrix.device.name, variant)
    return (matrix.T if transpose else matrix).product(x, y, alpha=alpha, beta=beta, out=out, variant=variant)


def _device_of_other(A: Any, x: Any, device: Selector) -> Selector:
    """Where a product of what is no DiaMatrix runs. Raises ArrayError for what is no matrix."""
    refuse_other("A", A)
    return x.device if device is None and isinstance(x, DeviceArray) else device


def _may_be_read_in_place(A: Any, x: Any, out: Any) -> bool:
    """Whether a matrix of SciPy's needs no copy for one product with one vector. Where its data are narrower, what they
    leave out counts as zeros, of which there are none in place; and what is read must not be written."""
    vector = isinstance(x, np.ndarray) and (x.ndim == 1 or x.shape[1:] == (1,))
    if not vector or isinstance(A, DiaMatrix) or not is_sparse(A) or is_narrow(A):
        return False
    return not isinstance(out, np.ndarray) or not np.may_share_memory(out, getattr(A, "data", out))


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
    """Build the product once and bind it to its arrays; arguments as in :func:`spmv`, all on one device.

    ``run()`` of the result computes it again with the values that ``x`` and ``y`` hold at that time; ``sample()``
    measures it. Raises as :func:`spmv` does.
    """

    numbers = factor("alpha", alpha, A.dtype), factor("beta", beta, A.dtype)

    def plan(configuration: Configuration) -> Prepared:
        name, parameters = configuration.variant, configuration.parameters
        return _core.prepare_spmv(A._handle, x, y, *numbers, out, name, parameters)

    return A._planned(variant, len(x.shape) == 2 and x.shape[1] > 1, plan, stacklevel=3)
