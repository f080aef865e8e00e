"""Small blocks read again and again, and chains of dependent loads.

Sources are small whole numbers as often below zero as above: their sums stay small enough to be exact in any order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from gpuopt.workloads.microbench.reference import Case, Expected
from gpuopt.workloads.microbench.reference.bandwidth import bits, summed

LARGEST = 4  # of the whole numbers


def whole_numbers(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    block = min(elements, 1 << 20)
    if dtype == np.float16:  # read as bits
        made: np.ndarray = random.integers(0, 1 << 16, block, dtype=np.uint16).view(dtype)
    elif dtype.kind == "f":
        made = random.integers(-LARGEST, LARGEST, block, endpoint=True).astype(dtype)
    else:
        info = np.iinfo(dtype)
        made = random.integers(info.min, info.max, block, dtype=dtype, endpoint=True)
    return np.resize(made, elements)


source_constant = source_local = source_image1d = source_image2d = source_taps = whole_numbers
source_reread = source_reread_chunks = whole_numbers


def rounding(case: Case, values: np.ndarray, terms: float, parts: int = 1) -> float:
    """What sums of ``terms`` whole numbers (or of ``parts`` of them) may be off by: nothing, until they leave the
    whole numbers that the type has. On its way a sum strays from where it ends like a random walk."""
    if case.source.dtype.kind != "f" or case.source.dtype == np.float16:
        return 0.0
    eps = float(np.finfo(case.source.dtype).eps)
    largest = float(np.abs(values).max()) + 8 * LARGEST * terms**0.5
    return 0.0 if largest * parts <= 2 / eps else eps * largest * 4 * terms**0.5


def exact(values: np.ndarray) -> np.ndarray:
    """In fp64 if real: whole numbers stay exact; integers wrap round as they are."""
    held = bits(values)
    return held.astype(np.float64) if held.dtype.kind == "f" else held


def as_stored(values: np.ndarray, case: Case) -> np.ndarray:
    return values.view(np.float16) if case.source.dtype == np.float16 else values


def ahead_sums(elements: np.ndarray, ahead: int) -> np.ndarray:
    """The sum of ``ahead`` successive rows of ``elements`` from each row on that has as many behind it."""
    starts = len(elements) - ahead + 1
    sums = np.zeros((starts, *elements.shape[1:]), elements.dtype)
    for a in range(ahead):
        sums += elements[a : a + starts]
    return sums


def walk(trip_sums: np.ndarray, starts: np.ndarray, steps: np.ndarray | int, trips: int) -> np.ndarray:
    """Sums of ``trips`` rows of ``trip_sums``, from each of ``starts`` on by ``steps`` and round and round."""
    limit = len(trip_sums)
    paths, which = np.unique(np.stack(np.broadcast_arrays(starts, steps), axis=-1), axis=0, return_inverse=True)
    at, step = paths.T
    sums = np.zeros((len(at), *trip_sums.shape[1:]), trip_sums.dtype)
    for _ in range(trips):
        sums += trip_sums[at]
        at = (at + step) % limit
    return sums[which.reshape(-1)]


def _items(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number, work-group and place in it of each work-item."""
    items = np.arange(case.outputs)
    return items, items // case["LOCAL"], items % case["LOCAL"]


def _terms(case: Case, width: int) -> float:
    return float(case.trips) * case["AHEAD"] * width


def constant(case: Case) -> Expected:
    items, group, place = _items(case)
    width, ahead = case["WIDTH"], case["AHEAD"]
    scalars = exact(case.source)
    trip_sums = ahead_sums(scalars.reshape(-1, width).sum(axis=1, dtype=scalars.dtype), ahead)
    starts = (group * ahead + (0 if case["UNIFORM"] else place)) % len(trip_sums)
    values = walk(trip_sums, starts, ahead, case.trips)
    values += scalars[items % scalars.size] * np.array(width).astype(scalars.dtype)
    return Expected(as_stored(values, case), rounding(case, values, _terms(case, width)))


def local(case: Case) -> Expected:
    _, group, place = _items(case)
    width, ahead, length = case["WIDTH"], case["AHEAD"], case["BLOCK"] // case["WIDTH"]
    scalars = exact(case.source)
    elements = scalars.reshape(-1, width).sum(axis=1, dtype=scalars.dtype)
    trip_sums = ahead_sums(np.resize(elements, length + ahead), ahead)[:length]
    values = walk(trip_sums, (group + place * case["STRIDE"]) % length, ahead, case.trips)
    return Expected(as_stored(values, case), rounding(case, values, _terms(case, width)))


def image1d(case: Case) -> Expected:
    _, group, place = _items(case)
    ahead = case["AHEAD"]
    trip_sums = ahead_sums(exact(case.source).reshape(-1, 4).sum(axis=1), ahead)
    values = walk(trip_sums, (group * ahead + place) % len(trip_sums), ahead, case.trips)
    return Expected(values, rounding(case, values, _terms(case, 4)))


def image2d(case: Case) -> Expected:
    _, group, place = _items(case)
    image = exact(case.source).reshape(-1, case.width // case["CHANNELS"], case["CHANNELS"]).sum(axis=2)
    rows, columns = image.shape

    def sampled(dx: int, dy: int) -> np.ndarray:
        """Of each pixel, the value where a trip from it has its fetch (dx, dy): a whole pixel, or between four."""
        down, across = dy + np.arange(rows), dx + np.arange(columns)
        if not case["LINEAR"]:
            return image[np.minimum(down, rows - 1)][:, np.minimum(across, columns - 1)]
        result = np.zeros_like(image)
        y, x = 1.5 * dy + 0.25, 1.5 * dx + 0.25
        for v, weight_v in ((int(y), 1 - y % 1), (int(y) + 1, y % 1)):
            for u, weight_u in ((int(x), 1 - x % 1), (int(x) + 1, x % 1)):
                from_row = image[np.minimum(v + np.arange(rows), rows - 1)]
                result += weight_v * weight_u * from_row[:, np.minimum(u + np.arange(columns), columns - 1)]
        return result

    trip_sums = sum((sampled(a % 4, a // 4) for a in range(case["AHEAD"])), np.zeros_like(image))
    x0, y0 = (5 * group + place % 16) % columns, (3 * group + place // 16) % rows
    starts, which = np.unique(np.stack([y0, x0]), axis=1, return_inverse=True)
    values = np.zeros(starts.shape[1])
    for trip in range(case.trips):
        values += trip_sums[(starts[0] + 3 * trip) % rows, (starts[1] + 4 * trip) % columns]
    values = values[which.reshape(-1)]
    terms = _terms(case, case["CHANNELS"])
    return Expected(values, rounding(case, values, terms, parts=16 if case["LINEAR"] else 1))


def taps(case: Case) -> Expected:
    _, group, place = _items(case)
    image = exact(case.source).reshape(-1, case.width)
    rows, columns = image.shape

    def sampled(step: int, lane: int) -> np.ndarray:
        """Of each pixel, the mean that a trip from it takes."""
        x = np.minimum(np.arange(columns) + 0.5 * (step % 4) + 0.25 + 1.5 * lane, columns - 1.75)
        y = np.minimum(np.arange(rows) + 1.5 * (step // 4) + 0.25, rows - 1.75)
        u, v = x.astype(int), y.astype(int)
        right, down = x - u, (y - v)[:, np.newaxis]
        upper, lower = ((1 - right) * image[row][:, u] + right * image[row][:, u + 1] for row in (v, v + 1))
        return np.asarray((1 - down) * upper + down * lower)

    trip_sums = sum(
        (sampled(step, lane) for step in range(case["AHEAD"]) for lane in range(case["LANES"])), np.zeros_like(image)
    )
    x0, y0 = (5 * group + place % 16) % columns, (3 * group + place // 16) % rows
    starts, which = np.unique(np.stack([y0, x0]), axis=1, return_inverse=True)
    values = np.zeros(starts.shape[1])
    for trip in range(case.trips):
        values += trip_sums[(starts[0] + 3 * trip) % rows, (starts[1] + 4 * trip) % columns]
    return Expected(values[which.reshape(-1)], rounding(case, values, _terms(case, case["LANES"]), parts=16))


def reread(case: Case) -> Expected:
    place = _items(case)[2]
    width, ahead, size = case["WIDTH"], case["AHEAD"], case["LOCAL"]
    scalars = exact(case.source)
    elements = scalars.reshape(-1, width).sum(axis=1, dtype=scalars.dtype)
    blocks = elements.size // size
    if blocks >= ahead:
        trip_sums = ahead_sums(elements[: blocks * size].reshape(blocks, size), ahead)
        groups = np.arange(case.outputs // size)
        starts = ((groups * 2654435761 % 2**32) >> 7) % len(trip_sums)
        values = walk(trip_sums, starts, ahead * (2 * (groups % 8) + 1) % len(trip_sums), case.trips).reshape(-1)
    else:
        values = walk(elements, place % elements.size, size, case.trips * ahead)
    return Expected(as_stored(values, case), rounding(case, values, _terms(case, width)))


def reread_chunks(case: Case) -> Expected:
    width, items = case["WIDTH"], case["ITEMS"]
    count = case.source.size // width
    edges = [count * i // items * width for i in range(items + 1)]
    held = bits(case.source)
    once = np.array([summed(held[a:b], case.source.dtype) for a, b in pairwise(edges)])
    repeats = np.array(case.trips).astype(bits(once).dtype)
    values = bits(once) * repeats
    # A pass strays as far as one pass does; many passes stray no further.
    return Expected(as_stored(values, case), rounding(case, values, max(edges[1], 1)))


def source_chase(elements: int, width: int, dtype: np.dtype[Any], random: np.random.Generator) -> np.ndarray:
    """One random cycle through nodes of ``width`` scalars, or 32: the first scalar of each says where the next is."""
    size = width or 32
    order = random.permutation(elements // size)
    following = np.zeros(elements, dtype)
    following[order * size] = np.roll(order, -1) * size
    return following


source_chase_local = source_chase_constant = source_chase


def chase(case: Case) -> Expected:
    following = case.source.tolist()
    at = 0
    for _ in range(case.trips):
        at = following[at]
    return Expected(np.array([at], case.source.dtype))


chase_local = chase_constant = chase
