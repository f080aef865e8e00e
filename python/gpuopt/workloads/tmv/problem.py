"""Problems of the transposed matrix-vector product: a random matrix and a random vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gpuopt._core import Device, ParameterError
from gpuopt.arrays import to_device
from gpuopt.checked import checked, real_dtype
from gpuopt.configuration import Configuration
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory, rounding
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.common.values import uniform
from gpuopt.workloads.tmv import operation
from gpuopt.workloads.tmv import reference as oracle
from gpuopt.workloads.tmv.peers import peers

# Beside each problem, as of gemm.
AWKWARD = ((1031, 71), (71, 1031), (48, 48), (7, 135), (67, 3))


@checked
def tmv(
    rows: int,
    cols: int | None = None,
    dtype: str | np.dtype[Any] = "float32",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
) -> Problem:
    """Return the problem ``A.T @ v`` for A (rows, cols) and v (rows,), float32 or float64, of values uniform in [-1, 1)
    that are drawn from ``seed``. A is square where ``cols`` is left out.

    With ``max_bytes``, the rows are halved until the problem fits these bytes; ``notes`` then says so. Raises
    ParameterError, also for sizes that need more than half of the free memory, before any data are made.

    Examples
    --------
    >>> problem = problems.tmv(8, 4)
    >>> problem.sizes, problem.flops, problem.reference.shape
    ({'rows': 8, 'cols': 4}, 64.0, (4,))
    """
    kind = real_dtype(dtype)
    wanted = (rows, rows if cols is None else cols)
    if min(wanted) < 1:
        raise ParameterError(f"rows, cols: {wanted} give no matrix; use whole numbers of at least 1")
    (rows, cols), notes = memory.fit(
        wanted,
        lambda extents: _needs(extents, kind),
        lambda extents: (max(1, extents[0] // 2), extents[1]),
        None if device is None else select(device),
        max_bytes,
        "rows, cols",
    )
    random = np.random.default_rng(seed)
    matrix, vector = uniform(random, (rows, cols), kind), uniform(random, (rows,), kind)
    tolerance = rounding.tolerance(oracle.abs_sum(matrix, vector), rows, kind)
    made = _of(matrix, vector, f"tmv_{rows}x{cols}", seed, tolerance)

    def call(device: Device) -> Callable[[], np.ndarray]:
        """NumPy arrays travel each time where the device does not share the host's memory."""
        return lambda: operation.tmv(matrix, vector, device=device)

    beside = cache(lambda: [exact(*sizes, kind) for sizes in AWKWARD])
    return replace(made, notes=notes, calls={"gpuopt.tmv(A, v)": call}, peers=peers, awkward=beside)


def exact(rows: int, cols: int, dtype: np.dtype[Any]) -> Problem:
    """Return the problem of whole numbers from -8 to 8, whose products and sums are exact in any order while
    64 rows < 2^24: no error is allowed."""
    random = np.random.default_rng([rows, cols])
    matrix, vector = (random.integers(-8, 9, shape).astype(dtype) for shape in ((rows, cols), (rows,)))
    return _of(matrix, vector, f"tmv_{rows}x{cols}_whole_numbers", 0, np.zeros(cols))


def _of(matrix: np.ndarray, vector: np.ndarray, name: str, seed: int, tolerance: np.ndarray) -> Problem:
    (rows, cols), kind = matrix.shape, matrix.dtype
    held = OnDevices(lambda device: (to_device(matrix, device), to_device(vector, device)))

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output((cols,), kind, device)
        return BoundPlan(operation.prepare_tmv(*held(device), out, configuration), out)

    return Problem(
        workload="tmv",
        name=name,
        dtype=kind,
        sizes={"rows": rows, "cols": cols},
        seed=seed,
        inputs={"A": matrix, "v": vector},
        reference=oracle.tmv(matrix, vector),
        tolerance=tolerance,
        footprint_bytes=(rows * cols + rows + cols) * kind.itemsize,
        prepare=prepare,
        flops=2.0 * rows * cols,
    )


def _needs(extents: tuple[int, ...], dtype: np.dtype[Any]) -> memory.Needs:
    rows, cols = extents
    matrix, block = rows * cols * dtype.itemsize, 2 * 8 * min(max(oracle.BLOCK, cols), rows * cols)
    return memory.Needs(
        host=matrix + block + 8 * 8 * cols, device=matrix + 2 * (rows + cols) * dtype.itemsize, largest=matrix
    )
