"""Ways of addressing memory, and their mends."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected
from gpuopt.workloads.microbench.reference.bandwidth import bits, sum_tolerance, summed

EXACT = 1 << 24  # whole numbers up to here are exact in fp32
MARGIN = 16  # scalars at each end that have no three-point sum of their own


def whole_numbers(elements: int, largest: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """Random ones from -``largest`` to ``largest``: sums of them do not depend on their order while they are exact."""
    return np.resize(random.integers(-largest, largest, min(elements, 1 << 20), endpoint=True).astype(dtype), elements)


def rounding(case: Case, terms: int, reach: float) -> float:
    """What a sum of whole numbers may be off by, given the largest partial sum: nothing where all are exact."""
    return 0.0 if reach <= EXACT else float(np.finfo(case.source.dtype).eps) * terms * reach


def adjacent(case: Case) -> Expected:
    return Expected(case.source)


adjacent_vector = adjacent


def source_row(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    return whole_numbers(elements, int(np.clip(EXACT // (width or elements), 15, 255)), dtype, random)


def row(case: Case) -> Expected:
    partial = case.source.reshape(-1, case.width).cumsum(axis=1, dtype=np.float64)
    return Expected(partial[:, -1], rounding(case, case.width, float(np.abs(partial).max())))


source_row_tile = source_row
row_tile = row


def shared(case: Case) -> Expected:
    values, delta = case.source.astype(np.float64), case["DELTA"]
    before, own, after = (values[MARGIN + d : values.size - MARGIN + d] for d in (-delta, 0, delta))
    largest = float(np.abs(values).max())
    return Expected(before + own + after, 3 * largest * float(np.finfo(case.source.dtype).eps))


shared_tile = shared


def unaligned(case: Case) -> Expected:
    return Expected(case.source[case["OFFSET"] :])


unaligned_tile = unaligned


def added_by_item(rows: list[np.ndarray], case: Case) -> Expected:
    """The sums of work-items, AHEAD scalars of a row each at the stride of a work-group."""
    per_item, local = case["AHEAD"], case["LOCAL"]
    groups = case.outputs // len(rows) // local
    padded = np.zeros((len(rows), groups * per_item * local), bits(case.source).dtype)
    for into, row in zip(padded, rows, strict=True):
        into[: row.size] = bits(row)
    parts = padded.reshape(-1, groups, per_item, local).swapaxes(2, 3).reshape(-1, per_item)
    return Expected(summed(parts, case.source.dtype), sum_tolerance(case, per_item))


def strided(case: Case) -> Expected:
    return added_by_item([case.source[first :: case["STRIDE"]] for first in range(case["STRIDE"])], case)


def scattered(count: int) -> np.ndarray:
    """A permutation of the numbers below ``count``: a hash of as many bits, taken again while it is no such number."""
    bits = (count - 1).bit_length()
    mask, shift = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    places = np.arange(count, dtype=np.uint64)
    left = np.arange(count)
    while left.size:
        place = places[left]
        place = place * np.uint64(0x9E3779B1) & mask
        place ^= place >> shift
        place = place * np.uint64(0x85EBCA77) & mask
        place ^= place >> shift
        place = place * np.uint64(0xC2B2AE3D) & mask
        places[left] = place
        left = left[place >= count]
    return places


def random(case: Case) -> Expected:
    return added_by_item([case.source[scattered(case.source.size)]], case)


def source_broadcast(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    return whole_numbers(elements, 255, dtype, random)


def broadcast(case: Case) -> Expected:
    local, run = case["LOCAL"], case["RUN"]
    groups, runs = case.outputs // local, case.source.size // run
    one = case.source[: runs * run].reshape(runs, run).sum(axis=1, dtype=np.float64)
    rounds, rest = divmod(case.trips, runs)
    upto = np.concatenate([[0.0], np.cumsum(np.concatenate([one, one]))])
    first = np.arange(groups) % runs
    sums = rounds * one.sum() + upto[first + rest] - upto[first]
    within_a_run = run * float(np.abs(case.source).max())
    reach = local + rounds * abs(float(one.sum())) + 2 * float(np.abs(upto).max()) + within_a_run
    return Expected(np.add.outer(sums, np.arange(local)).ravel(), rounding(case, run * case.trips, reach))
