"""Forty products of many shapes, with weights: squares, odd sizes, DeepBench's, matrix-vector products, tall and skinny
ones, and small batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpuopt.checked import checked


class Shape(NamedTuple):
    """``batch`` products of (m, k) by (k, n), of a class, and the share that the shape has in a score."""

    kind: str
    m: int
    n: int
    k: int
    batch: int
    weight: float

    @property
    def name(self) -> str:
        """The sizes as text, ``"16x1760x1760"``; of a batch ``"64x64x64 x 256"``."""
        return f"{self.m}x{self.n}x{self.k}" + (f" x {self.batch}" if self.batch > 1 else "")

    @property
    def subject(self) -> str:
        """The shape as `gpuopt study gemm` takes it."""
        return self.name.replace(" ", "")


# A class, its share, its shapes: one size, or M x N x K, or M x N x K x batch. DeepBench's (m, n, k) are column-major.
_CLASSES = {
    "square": (0.25, "16 32 64 128 256 512 1024 2048 4096 8192"),
    "odd": (0.10, "127 333 1000x1001x999 4097x4095x4099"),
    "training": (
        0.15,
        "16x1760x1760 128x2048x2048 7000x2560x2560 9124x5124x1760 8457x35x1760 16x7680x2560 8x512x500000 700x1024x512",
    ),
    "inference": (0.10, "700x5124x2048 700x35x2560 1x7680x2560 4x7680x2560 1500x3072x1024"),
    "matrix-vector": (0.15, "1x8192x8192 8192x1x8192 1x1024x65536 65536x1x1024"),
    "tall": (0.15, "100x100x100000 8192x64x8192 16384x1024x128 1000000x16x16 64x64x1000000"),
    "batch": (0.10, "16x16x16x4096 64x64x64x256 128x128x128x64 1024x64x64x32"),
}


@checked
def gemm_shapes() -> tuple[Shape, ...]:
    """Return the shapes, the weights of which add up to 1. Raises nothing.

    Examples
    --------
    >>> shapes = problems.gemm_shapes()
    >>> len(shapes), shapes[0].name, round(sum(shape.weight for shape in shapes), 6)
    (40, '16x16x16', 1.0)
    """
    found = []
    for kind, (share, text) in _CLASSES.items():
        names = text.split()
        for name in names:
            sizes = all_sizes([int(length) for length in name.split("x")])
            found.append(Shape(kind, *sizes, share / len(names)))
    return tuple(found)


def all_sizes(given: Sequence[int]) -> tuple[int, int, int, int]:
    """M, N, K and how many products, of one size for the three, of three, or of all four."""
    m, n, k, batch = (*given, 1)[:4] if len(given) > 1 else (*given, *given, *given, 1)
    return m, n, k, batch


def score(ratios: Mapping[Shape, float]) -> float:
    """Return the weighted geometric mean of ratios of times, over the shapes that have one. Raises ValueError for
    none."""
    if not ratios:
        raise ValueError("ratios: there are none; give one for each shape that was measured")
    whole = sum(shape.weight for shape in ratios)
    return math.exp(sum(shape.weight * math.log(ratio) for shape, ratio in ratios.items()) / whole)
