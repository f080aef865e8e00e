"""``gpuopt.gemm``: products of dense matrices."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import ArrayError, Device, DeviceArray, DeviceMemoryError, Prepared
from gpuopt.arrays import Array, factor
from gpuopt.checked import checked
from gpuopt.configuration import Configuration, levels_of
from gpuopt.remembered import remembered
from gpuopt.selection import Selector, select
from gpuopt.workloads.gemm.choice import Sizes, without_copies
from gpuopt.workloads.gemm.choice import chosen as chosen_of
from gpuopt.workloads.gemm.precision import FAST_FP32, fallbacks


@checked
def gemm(  # long: half of it is what users read of its arguments
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    out: Array | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: str | None = None,
    variant: str | Configuration | None = None,
    device: Selector = None,
) -> Array:
    """Return ``alpha * A @ B + beta * C`` for one pair of matrices or a batch of pairs (Jang 2009; Yang 2012).

    Parameters
    ----------
    A, B
        (M, K) and (K, N), float32 or float64, both NumPy arrays or both DeviceArrays. The rows of a NumPy array must be
        contiguous, but may be any distance apart, as in ``big[:, :100]``. Three dimensions (batch, M, K) are a batch of
        matrices; a single matrix is multiplied with each of the other's batch.
    C
        Addend of the result's shape, or one matrix for the whole batch, never modified. It is needed where ``beta`` is
        not 0, and not read where it is 0. A and B are not read where ``alpha`` is 0.
    out
        Array that receives the result and is returned; shares no memory with A, B or C. Its rows may be apart, as
        theirs.
    transpose_a, transpose_b
        Whether to multiply by the transpose of the given matrix: A is then (K, M), or B is (N, K).
    precision
        None computes in the arrays' dtype. The others take float32 arrays and compute on tensor cores. ``"tf32x3"``,
        ``"bf16x6"``, ``"bf16x9"`` and ``"fp16x3"`` have float32's accuracy, ``"bf16x3"`` has less, ``"tf32"`` and
        ``"fp16"`` have that of a single product of short numbers. All of these refuse Inf and NaN; the fp16 ones also
        refuse a number that is too small beside the largest of its row of A or column of B. They raise an ArrayError
        that says what to use instead; the content of ``out`` is then no result. ``"fast_fp32"`` takes the fastest one
        with float32's accuracy that device and numbers allow, which may be float32 itself.
        Products with few results are computed in parts along K. Where numbers overflow, the result may then be NaN
        instead of Inf.
    variant
        A variant's name, a preset (``"paper:naive"``) or a Configuration; None takes the best one known for the device.
    device
        Where to run when the arrays are NumPy's.

    Returns
    -------
    C-contiguous NumPy array or DeviceArray, as A is: (M, N) or (batch, M, N), of the dtype of A.

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError

    Examples
    --------
    >>> A = np.arange(6, dtype=np.float32).reshape(2, 3)
    >>> gpuopt.gemm(A, A, transpose_b=True)
    array([[ 5., 14.],
           [14., 50.]], dtype=float32)
    """
    dtype, batch, m, n, k = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)
    numbers = factor("alpha", alpha, dtype), factor("beta", beta, dtype)
    chosen = A.device if device is None and isinstance(A, DeviceArray) else select(device)
    before: Sequence[Configuration]
    sizes = Sizes(batch, m, n, k, transpose_a, transpose_b)
    if precision is None:
        before, last = (), _of_shape(chosen, dtype, variant, sizes)
    else:
        *before, last = fallbacks(chosen, dtype, precision, variant, batch * m * n * k)

    def product(configuration: Configuration) -> Array:
        name, parameters = configuration.variant, levels_of(configuration)
        result: Array = _core.gemm(A, B, C, *numbers, out, transpose_a, transpose_b, chosen, name, parameters)
        return result

    for configuration in before:
        # These operands do not fit its short numbers, or their parts the memory; others are raised again below.
        with suppress(ArrayError, DeviceMemoryError):
            return product(configuration)
    try:
        return product(last)
    except DeviceMemoryError:
        free = variant is None and precision in (None, FAST_FP32)
        leaner = without_copies(chosen, dtype, sizes, last) if free else None
        if leaner is None:
            raise
    return product(leaner)


def prepare_gemm(
    A: DeviceArray,
    B: DeviceArray,
    out: DeviceArray,
    variant: str | Configuration | None = None,
    *,
    C: DeviceArray | None = None,
    alpha: float = 1,
    beta: float = 0,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: str | None = None,
) -> Prepared:
    """Build the product once and bind it to its arrays; arguments as in :func:`gemm`, all on one device.

    ``run()`` of the result computes it again with the values that A, B and C hold at that time; ``sample()`` measures
    it. Raises as :func:`gemm` does. A plan of ``precision="fast_fp32"`` holds all ways of it, in memory that they
    share; a run whose numbers do not fit one goes on with the next, and starting it waits for the answer.
    """
    dtype, batch, m, n, k = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)
    if precision is None:
        ways = [_of_shape(out.device, dtype, variant, Sizes(batch, m, n, k, transpose_a, transpose_b))]
    else:
        ways = fallbacks(out.device, dtype, precision, variant, batch * m * n * k)
    name, parameters = ways[0].variant, ways[0].parameters
    others = [(way.variant, way.parameters) for way in ways[1:]]
    numbers = factor("alpha", alpha, dtype), factor("beta", beta, dtype)
    return _core.prepare_gemm(A, B, C, *numbers, out, transpose_a, transpose_b, name, parameters, others)


def _of_shape(device: Device, dtype: np.dtype[Any], variant: str | Configuration | None, sizes: Sizes) -> Configuration:
    """What a product of these sizes takes, found once for each of them."""
    of_input = sizes if variant is None else ""
    return remembered("gemm", device, dtype, variant, lambda: chosen_of(device, dtype, variant, sizes), of_input)
