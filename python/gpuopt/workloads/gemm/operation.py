"""``gpuopt.gemm``: products of matrices, NumPy or device arrays in, the same kind out."""

from __future__ import annotations

import math
from contextlib import suppress

from gpuopt import _core
from gpuopt._core import ArrayError, DeviceArray, Prepared
from gpuopt.arrays import Array
from gpuopt.configuration import Configuration
from gpuopt.selection import Selector, select
from gpuopt.workloads.gemm.precision import choose, ways


def gemm(
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
    """``alpha * A @ B + beta * C``, of one pair of matrices or of a batch of them.

    Parameters
    ----------
    A, B
        (M, K) and (K, N), float32 or float64, all NumPy or all DeviceArrays. Rows of NumPy arrays may stand any way
        apart, such as those of ``big[:, :100]``; each row is contiguous. Three dimensions are a batch of matrices,
        (batch, M, K); one matrix meets every one of the other's batch.
    C
        Addend of the result's shape, or one matrix for the whole batch, never modified; needed when ``beta`` is not 0
        and not read when it is. A and B are not read when ``alpha`` is 0.
    out
        Receives the result and is returned; shares no memory with A, B or C. Its rows may stand apart as theirs.
    transpose_a, transpose_b
        The matrix given is (K, M), or (N, K): its transpose takes part.
    precision
        None computes in the arrays' dtype. Of float32 arrays, on tensor cores: ``"tf32x3"``, ``"bf16x6"``, ``"bf16x9"``
        and ``"fp16x3"`` have float32's accuracy, ``"bf16x3"`` less, ``"tf32"`` and ``"fp16"`` that of one short
        product. They refuse Inf and NaN, and those of fp16 numbers too small beside the largest of their row of A or
        column of B: an ArrayError that names the way out; what ``out`` holds then is no result. ``"fast_fp32"`` takes
        the fastest of float32's accuracy that the device and the numbers allow, which may be float32 itself.
        Where results are few, their sums are added in parts: numbers that overflow may give NaN instead of Inf then.
    variant
        A variant's name, a preset (``"paper:naive"``) or a Configuration; None takes the best one known for the device.
    device
        Where to run when the arrays are NumPy's.

    Returns
    -------
    C-contiguous array of the kind of A: (M, N), or (batch, M, N).

    Raises
    ------
    ArrayError, ParameterError, UnsupportedError, DeviceMemoryError, NoDeviceError, KernelBuildError, OpenCLError
    """
    dtype, *sizes = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)
    chosen = A.device if device is None and isinstance(A, DeviceArray) else select(device)
    *before, last = ways(chosen, dtype, precision, variant, math.prod(sizes))

    def product(configuration: Configuration) -> Array:
        name, parameters = configuration.variant, configuration.parameters
        numbers = float(alpha), float(beta)
        result: Array = _core.gemm(A, B, C, *numbers, out, transpose_a, transpose_b, chosen, name, parameters)
        return result

    for configuration in before:
        with suppress(ArrayError):  # its numbers do not go into these operands; what else it may be is raised below
            return product(configuration)
    return product(last)


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
    """The same product, built and bound once: ``run()`` repeats it on whatever A, B and C hold by then, ``sample()``
    times it."""
    dtype = _core.gemm_sizes(A, B, C, float(beta), transpose_a, transpose_b)[0]
    configuration = choose(out.device, dtype, precision, variant)
    name, parameters = configuration.variant, configuration.parameters
    return _core.prepare_gemm(A, B, C, float(alpha), float(beta), out, transpose_a, transpose_b, name, parameters)
