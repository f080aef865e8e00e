"""Streams over memory."""

from __future__ import annotations

import itertools

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected


def bits(values: np.ndarray) -> np.ndarray:
    """Halves as the bits that kernels hold them as; anything else as it is."""
    return values.view(np.uint16) if values.dtype == np.float16 else values


def summed(parts: np.ndarray, dtype: np.dtype) -> np.ndarray:  # type: ignore[type-arg]
    """Sums along the last axis: in fp64 for reals, wrapping round as the kernel's integers do; halves as bits."""
    if dtype == np.float16:
        return parts.sum(axis=-1, dtype=np.uint16).view(np.float16)
    return parts.sum(axis=-1, dtype=np.float64 if dtype.kind == "f" else dtype)


def sum_tolerance(case: Case, terms: float) -> float:
    """What sums of ``terms`` values may be off by in the source's own precision."""
    if case.source.dtype.kind != "f" or case.source.dtype == np.float16:
        return 0.0
    largest = float(np.abs(case.source).max(initial=0))
    return float(np.finfo(case.source.dtype).eps) * terms * terms * largest


def read(case: Case) -> Expected:
    per_item, width = case["AHEAD"], case["WIDTH"]
    group = case["LOCAL"]
    groups = case.outputs // group
    padded = np.zeros(groups * per_item * group * width, bits(case.source).dtype)
    padded[: case.source.size] = bits(case.source)
    parts = padded.reshape(groups, per_item, group, width).transpose(0, 2, 1, 3).reshape(groups * group, -1)
    return Expected(summed(parts, case.source.dtype), sum_tolerance(case, per_item * width))


def read_chunks(case: Case) -> Expected:
    width, items = case["WIDTH"], case["ITEMS"]
    count = case.source.size // width
    edges = [count * i // items * width for i in range(items + 1)]
    held = bits(case.source)
    sums = [summed(held[a:b], case.source.dtype) for a, b in itertools.pairwise(edges)]
    return Expected(np.array(sums), sum_tolerance(case, (count / items + 1) * width) / max(1, count / items) ** 0.5)


def write(case: Case) -> Expected:
    return Expected(np.resize(case.source[: case["WIDTH"]], case.source.size))


write_chunks = write


def copy(case: Case) -> Expected:
    return Expected(case.source)


copy_chunks = copy_packed = copy_staged = copy


def triad(case: Case) -> Expected:
    b, c = case.source.astype(np.float64).reshape(2, -1)
    scale = float(case.source[0])
    return Expected(b + scale * c, 2 * float(np.finfo(case.source.dtype).eps) * (np.abs(b) + np.abs(scale * c)))


triad_chunks = triad
