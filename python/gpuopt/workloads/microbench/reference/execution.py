"""How work-items are executed: branches, and values that are live at once. Every step is a contraction."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected
from gpuopt.workloads.microbench.reference.arithmetic import source_fma

STEPS = 16  # of a path of `branches`, time after time
CHOICES = 32  # scalars that say a first path
LIKE = 64  # neighbouring work-items that take the same path
FORGOTTEN = 2048  # steps after which a start no longer shows in fp64: each leaves less than 0.97 of it
STARTS = 16  # elements that the values of `registers` start from


def source_branches(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """The first paths, each as often as any other among CHOICES neighbours, and coefficients below 1."""
    source = source_fma(elements, width, dtype, random)
    source[:CHOICES] = random.permutation(CHOICES)
    return source


def branches(case: Case) -> Expected:
    dtype = case.source.dtype
    items = np.arange(min(case.outputs, LIKE * CHOICES))
    values = case.source[CHOICES : 2 * CHOICES]
    x, y, q = (values[(items + ahead) % CHOICES] for ahead in range(3))
    z, w = (1 - q).astype(np.float64), (1 + q).astype(np.float64)  # after rounding, as the kernel has them
    x, y = x.astype(np.float64), y.astype(np.float64)
    first = case.source[(items if case["DIVERGENT"] else items // LIKE) % CHOICES].astype(int)
    largest = np.abs(x).max()
    for trip in range(max(0, case.trips - FORGOTTEN // case["LENGTH"] - 1), case.trips):
        path = (first + trip) % case["PATHS"]
        for step in range(case["LENGTH"]):
            turned = path >> step % STEPS % 5 & 1
            x = np.where(turned, w - x * y, x * y + z)
            largest = max(largest, np.abs(x).max())
    error = float(np.finfo(dtype).eps) * largest / (1 - y.max())
    return Expected(np.resize(x, case.outputs), error)


source_registers = source_fma


def registers(case: Case) -> Expected:
    live, chained = case["LIVE"], case["CHAINED"]
    items = np.arange(min(case.outputs, STARTS))
    starts = case.source[:STARTS].astype(np.float64)
    x = np.stack([starts[(items + i) % STARTS] * ((512 + i) / 512) for i in range(live)])
    y, w, z = (starts[(items + i) % STARTS] for i in (1, 2, 3))
    z = 1 - z
    if chained:
        y, w = y / 2, w / 2
    largest = np.abs(x).max()
    for _ in range(case.trips * (64 // live if live < 64 else 1)):
        before = x.copy()
        if chained:
            for i in range(live):
                x[i] = x[i] * y + (x[i - 1] * w + z)
        else:
            x = x * y + z
        largest = max(largest, np.abs(x).max())
        if np.array_equal(x, before):
            break
    # Two roundings a step at most, whose errors shrink by y (or y + w) with each.
    shrinks = (y + w).max() if chained else y.max()
    eps = float(np.finfo(case.source.dtype).eps)
    error = live * eps * largest * (1 / (1 - shrinks) + live)
    return Expected(np.resize(x.sum(axis=0), case.outputs), error)
