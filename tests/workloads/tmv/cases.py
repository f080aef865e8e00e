"""What the transposed product's variants run on: flat and tall matrices, below a group, beyond a block, and empty."""

from __future__ import annotations

import numpy as np

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.common import rounding
from gpuopt.workloads.tmv import reference as oracle
from gpuopt.workloads.tmv.operation import prepare_tmv
from harness import Room, Run, as_it_stands, draws, every_level, on, on_each, presets

SHAPES = [
    *("1x1", "1x7", "7x1", "5x16", "37x37", "130x64", "64x130", "1000x3", "3x1000", "2049x17"),
    *("40x4100", "1025x513", "0x5", "5x0", "0x0"),
]


def operands(rows: int, cols: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(rows + cols)
    return tuple(draw.uniform(-1, 1, shape).astype(dtype) for shape in ((rows, cols), (rows,)))  # type: ignore[return-value]


def make(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    shape, dtype = name.split()
    rows, cols = map(int, shape.split("x"))
    A, v = operands(rows, cols, dtype)

    def prepare(configuration: Configuration, device: gpuopt.Device) -> BoundPlan:
        out = _core.empty((cols,), A.dtype, device, True)
        plan = prepare_tmv(gpuopt.to_device(A, device), gpuopt.to_device(v, device), out, configuration)
        return BoundPlan(plan, out)

    allowed = rounding.tolerance(oracle.abs_sum(A, v), rows, dtype)
    sizes = {"rows": rows, "cols": cols}
    return Problem("tmv", name, A.dtype, sizes, 0, {"A": A, "v": v}, oracle.tmv(A, v), allowed, A.nbytes, prepare)


STANDARD = [as_it_stands(variant) for variant in gpuopt.variants("tmv")]

ROOM = Room(
    make,
    {
        "sizes": Run(on_each([f"{shape} float32" for shape in SHAPES], STANDARD), thin=4),
        "doubles": Run(on_each([f"{shape} float64" for shape in ("37x37", "130x64", "1025x513")], STANDARD), thin=2),
        "levels": Run([(c, ["777x528 float32", "777x527 float32"]) for c in every_level("tmv")], thin=4),
        "drawn": Run(on("1030x129 float32", draws("tmv")[::2]), thin=4),
        "presets": Run(on("600x200 float32", presets("tmv"))),
    },
)
