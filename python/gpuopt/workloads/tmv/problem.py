"""Problems of the transposed matrix-vector product: a random matrix and a random vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt._core import Device, ParameterError, empty
from gpuopt.arrays import to_device
from gpuopt.configuration import Configuration
from gpuopt.problem import BoundPlan, Problem
from gpuopt.selection import Selector, select
from gpuopt.workloads.common import memory, rounding
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.common.values import real_dtype, uniform
from gpuopt.workloads.tmv import operation
from gpuopt.workloads.tmv import reference as oracle
from gpuopt.workloads.tmv.peers import peers


def tmv(
    rows: int,
    cols: int | None = None,
    dtype: str | np.dtype[Any] = "float32",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
) -> Problem:
    """Return the problem ``A.T @ v`` for A (rows, cols) and v (rows,) of values uniform in [-1, 1).

    A is square where ``cols`` is left out.

    With ``max_bytes``, the rows are halved until the problem fits; ``notes`` then says so. Raises ParameterError, also
    for sizes that need more than half of the free memory, before any data are made.
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
    held = OnDevices(lambda device: (to_device(matrix, device), to_device(vector, device)))

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = empty((cols,), kind, device, guarded=True)
        return BoundPlan(operation.prepare_tmv(*held(device), out, configuration), out)

    def call(device: Device) -> Callable[[], np.ndarray]:
        """NumPy arrays travel each time where the device does not share the host's memory."""
        return lambda: operation.tmv(matrix, vector, device=device)

    return Problem(
        workload="tmv",
        name=f"tmv_{rows}x{cols}",
        dtype=kind,
        sizes={"rows": rows, "cols": cols},
        seed=seed,
        inputs={"A": matrix, "v": vector},
        reference=oracle.tmv(matrix, vector),
        tolerance=rounding.tolerance(oracle.abs_sum(matrix, vector), rows, kind),
        footprint_bytes=(rows * cols + rows + cols) * kind.itemsize,
        prepare=prepare,
        flops=2.0 * rows * cols,
        notes=notes,
        calls={"gpuopt.tmv(A, v)": call},
        peers=peers,
    )


def _needs(extents: tuple[int, ...], dtype: np.dtype[Any]) -> memory.Needs:
    rows, cols = extents
    matrix, block = rows * cols * dtype.itemsize, 2 * 8 * max(oracle.BLOCK, cols)
    return memory.Needs(
        host=matrix + block + 8 * 8 * cols, device=matrix + 2 * (rows + cols) * dtype.itemsize, largest=matrix
    )
