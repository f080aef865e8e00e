"""What every variant of every workload is compiled to, as rows: `python results/compiled/rows.py DEVICE FILE.jsonl
[TARGET...]`. Problems are small: their size decides no instruction."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gpuopt
from gpuopt import Configuration, lab, problems
from gpuopt.problem import Problem
from gpuopt.selection import select

PLANES = ("copy2d", "transpose", "tiled", "cache_reuse", "row", "image2d", "taps")


def all_problems(device: gpuopt.Device) -> Iterator[tuple[Problem, str]]:
    """Problems with the variants that each is for."""
    yield problems.spmv_grid(128, 128, device=device), "all"
    yield problems.spmv_grid(128, 128, symmetric=True, device=device), "all"
    charge = np.full(256, 0.1, np.float32)
    atoms = gpuopt.Molecule(np.random.default_rng(0).normal(0, 10, (256, 3)).astype(np.float32), charge, 10 * charge)
    sphere = np.random.default_rng(1).normal(size=(1024, 3)).astype(np.float32)
    sphere *= 60 / np.linalg.norm(sphere, axis=1, keepdims=True)
    yield problems.gem(atoms, gpuopt.Surface(sphere, sphere / 60), device=device), "all"
    yield problems.gemm(256, device=device), "all"
    yield problems.tmv(512, device=device), "all"
    yield problems.back_projection("I1:4", device=device), "all"
    for operation in ("forward", "adjoint"):
        yield problems.projection("32x24x48x64", operation, device=device), "all"
    for variant in gpuopt.variants("microbench"):
        configuration = Configuration(variant.name, **{p.name: p.standard for p in variant.parameters})
        width = (
            256 if variant.family in ("copy2d", "transpose", "tiled", "cache_reuse", "row", "image2d", "taps") else 0
        )
        size = 1 << 14 if variant.family in ("latency", "constant") else 1 << 20
        dtype = "float32" if "float32" in variant.dtypes else variant.dtypes[0]
        try:
            yield problems.microbenchmark(configuration, dtype, size, width=width, device=device), variant.name
        except gpuopt.UnsupportedError as error:  # products of small matrices are written in PTX
            print(error, flush=True)


def main() -> None:
    device, path, targets = select(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or ["live"]
    with path.open("w", encoding="utf-8") as file:
        for problem, variants in all_problems(device):
            for row in lab.isa(problem, variants, targets=targets, device=device).rows:
                told = {name: value for name, value in row.items() if value is not None}
                file.write(json.dumps({"workload": problem.workload, "problem": problem.name, **told}) + "\n")
            print(problem.name, flush=True)


main()
