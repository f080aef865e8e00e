"""What SpMV's variants run on: matrices that are awkward in their own ways, and matrices of grids."""

from __future__ import annotations

import functools
import math

import numpy as np

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.spmv import reference as oracle
from gpuopt.workloads.spmv.operation import prepare_spmv
from harness import Room, Run, as_it_stands, draws, every_level, on, on_each

# Rows, columns, offsets, length of SciPy's data.
SHAPES = {
    "one": (1, 1, [0], 1),
    "below-a-group": (37, 37, [-3, 0, 5], 37),
    "unsorted": (513, 513, [7, -120, 0, 77, -1], 513),
    "wide": (53, 211, [200, -50, 0, 9, 150], 211),
    "tall": (211, 53, [-200, 50, 0, -9], 53),
    "short-data": (130, 130, [0, 2, -2], 61),
    "long-data": (67, 67, [0, 66, -66, 1], 300),
    "beyond-the-edge": (40, 40, [0, 40, -40, 1000, -5], 40),
    "many-diagonals": (300, 300, list(range(-150, 150)), 300),
    "no-diagonals": (9, 9, [], 9),
    "no-rows": (0, 5, [0], 5),
    "no-columns": (5, 0, [0], 3),
}


def grid_offsets(width: int, radius: int) -> list[int]:
    return [dy * width + dx for dx, dy in oracle.disk_steps(radius).tolist()]


# Matrices of grids, for variants that need one; every second is symmetric.
GRIDS = {
    "grid": (71 * 23, 71 * 23, grid_offsets(71, 5), 71 * 23),
    "symmetric-grid": (71 * 23, 71 * 23, grid_offsets(71, 5), 71 * 23),
    "grid-within-a-tile": (30, 30, grid_offsets(6, 1), 30),
    "symmetric-within-a-tile": (30, 30, grid_offsets(6, 1), 30),
    "even-grid": (64 * 21, 64 * 21, grid_offsets(64, 5), 64 * 21),
    "symmetric-even-grid": (256 * 40, 256 * 40, grid_offsets(256, 5), 256 * 40),
    "torn-grid": (1000, 1000, grid_offsets(33, 3), 1000),
    "symmetric-torn-grid": (1000, 1000, grid_offsets(33, 3), 1000),
    "wide-grid": (900, 1400, grid_offsets(90, 2), 1400),
    "symmetric-line": (700, 700, [-9, -1, 0, 1, 9], 700),
    "far-line": (5000, 5000, [-9, 0, 9, 4800], 5000),
    "symmetric-without-main": (5000, 5000, [-4500, -64, 64, 4500], 5000),
}

# For levels, whose programs have the diagonals written out: a third of them compiles three times as fast. The last line
# is torn, so that no number of rows a work-item divides them.
FEW = {"symmetric-few": (248 * 41 + 5, 248 * 41 + 5, grid_offsets(248, 3), 248 * 41 + 5)}


@functools.cache
def matrix_of(name: str, dtype: str) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    rows, columns, offsets, length = (SHAPES | GRIDS | FEW)[name]
    data = np.random.default_rng(0).uniform(-1, 1, (len(offsets), length)).astype(dtype)
    if name.startswith("symmetric"):
        for k, offset in enumerate(offsets):
            if offset > 0:  # A[i, i+o] stands at column i+o, its mirror A[i+o, i] at column i
                data[offsets.index(-offset), : length - offset] = data[k, offset:]
    return data, np.array(offsets, dtype=np.int64), (rows, columns)


def rounded(data: np.ndarray) -> np.ndarray:
    """What 16-bit storage keeps of values in [-1, 1]: their largest is brought just below 2^15 by a power of two."""
    largest = float(np.abs(data).max(initial=0.0))
    scale = 2.0 ** (14 - math.floor(math.log2(largest))) if largest else 1.0
    return (data * scale).astype(np.float16).astype(np.float64) / scale


def tolerance(data: np.ndarray, offsets: np.ndarray, shape: tuple[int, int], x: np.ndarray) -> np.ndarray:
    unit = 2.0**-24 if data.dtype == np.float32 else 2.0**-53
    return 2 * (len(offsets) + 2) * unit * oracle.dia_abs_sum(data, offsets, shape, x)


@functools.cache
def _known(name: str, dtype: str, short: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, the product with the matrix or with its values in 16 bits, and what it may be off by."""
    data, offsets, shape = matrix_of(name, dtype)
    x = np.random.default_rng(1).uniform(-1, 1, shape[1]).astype(dtype)
    exact = rounded(data) if short else data.astype(np.float64)
    return x, oracle.dia_spmv(exact, offsets, shape, x.astype(np.float64)), tolerance(data, offsets, shape, x)


def make(label: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    name, dtype = label.split()
    data, offsets, shape = matrix_of(name, dtype)
    x, reference, allowed = _known(name, dtype, configuration.parameters.get("HALF") == 1)

    def prepare(configuration: Configuration, device: gpuopt.Device) -> BoundPlan:
        matrix = gpuopt.DiaMatrix((data, offsets), shape, device=device)
        assert matrix.symmetric == (name.startswith("symmetric") or name in ("one", "no-diagonals"))
        out = _core.empty((shape[0],), data.dtype, device, True)
        return BoundPlan(prepare_spmv(matrix, gpuopt.to_device(x, device), out, configuration), out)

    sizes = {"rows": shape[0], "columns": shape[1], "diagonals": len(offsets)}
    inputs = {"data": data, "offsets": offsets, "x": x}
    return Problem("spmv", label, data.dtype, sizes, 0, inputs, reference, allowed, data.nbytes, prepare)


NAMES = [f"{name} {dtype}" for dtype in ("float32", "float64") for name in (*SHAPES, *GRIDS)]
STANDARD = [as_it_stands(variant) for variant in gpuopt.variants("spmv")]
SMALL = "symmetric-few float32"

ROOM = Room(
    make,
    {
        "sizes": Run(on_each(NAMES, STANDARD), thin=5),
        "levels": Run(on(SMALL, every_level("spmv")), thin=4),
        "drawn": Run(on(SMALL, draws("spmv")), thin=4),
    },
)
