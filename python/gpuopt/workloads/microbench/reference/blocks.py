"""Shapes of two-dimensional work-groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected
from gpuopt.workloads.microbench.reference.patterns import EXACT, rounding, whole_numbers


def copy2d(case: Case) -> Expected:
    return Expected(case.source)


def transpose(case: Case) -> Expected:
    return Expected(case.source.reshape(-1, case.width).T.ravel())


transpose_tile = transpose


def halves(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of equally many rows, in fp64."""
    rows = case.source.size // 2 // case.width
    both = case.source[: 2 * rows * case.width].astype(np.float64).reshape(2, rows, case.width)
    return both[0], both[1]


def source_tiled(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """Whole numbers whose squared differences add up exactly over a row."""
    largest = int(np.clip((EXACT // (4 * (width or elements))) ** 0.5, 1, 255))
    return whole_numbers(elements, largest, dtype, random)


def tiled(case: Case) -> Expected:
    a, b = halves(case)
    product = a @ b.reshape(case.width, -1)
    return Expected(product.ravel(), rounding(case, case.width, case.width * float(np.abs(case.source).max()) ** 2))


source_cache_reuse = source_tiled


POW_ULP, EXP_ULP = 16, 4  # errors that OpenCL allows pow and pown, and exp of either precision
SCALE = float(1 << 24)  # of the sums under exp


def cache_reuse(case: Case) -> Expected:
    a, b = halves(case)
    # |a|^2 + |b|^2 - 2 a.b: exact, of whole numbers in fp64
    distances = np.add.outer((b * b).sum(axis=1), (a * a).sum(axis=1)) - 2 * (b @ a.T)
    distances = distances.ravel()
    if case["MATH"] == 0:
        reach = 4 * case.width * float(np.abs(case.source).max()) ** 2
        return Expected(distances, rounding(case, case.width, reach))
    # Each term is off by the error of pow, each addition by half an ulp of a partial sum, which the whole one bounds.
    eps = float(np.finfo(case.source.dtype).eps)
    errors = eps * (POW_ULP + case.width / 2) * distances
    if case["MATH"] == 1:
        return Expected(distances, errors)
    values = np.exp(-distances / SCALE)
    return Expected(values, values * (np.expm1((errors + eps * distances) / SCALE) + EXP_ULP * eps))
