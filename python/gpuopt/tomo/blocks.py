"""The blocks of views that an iteration visits one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpuopt.tomo.operators import Array, Operator, Sums
from gpuopt.tomo.reconstruction import Run

NOTHING = 1e-6  # A ray or voxel whose sum of weights is below this part of the largest counts as missed.


@dataclass(eq=False)
class Block:
    """A block of views: their operator and their projections b."""

    A: Operator
    b: Array
    columns: Array | None = None
    """C^-1, the inverse column sums; None where they are computed at each visit."""


class Blocks:
    """The blocks of a run, and a work array for projections of each shape that occurs.

    The column sums of all blocks are kept if the backend's ``cache_bytes`` allow it; else each visit computes them,
    which costs a back projection. A block of all views keeps its own, and leaves them for later calls where its
    operator takes them. With ``compared`` they count as 0 where they are small beside the sums of all blocks, not of
    their own alone: what rounding lets the rays of a block meet has no weight there. Where they are not kept, this
    costs one more back projection of each block.
    """

    def __init__(self, run: Run, blocks: list[np.ndarray], compared: bool = False) -> None:
        A, backend = run.A, run.backend
        self._backend = backend
        self.work = dict[tuple[int, ...], Array]()
        self.parts = list[Block]()
        self._largest: float | None = None  # of all blocks' column sums; None: each block's own counts
        whole = len(blocks) == 1 and np.array_equal(blocks[0], np.arange(A.views))
        self._left = (A._sums if whole else None) or Sums()
        for block in blocks:
            some = A if whole else A.subset(block)
            self.parts.append(Block(some, run.b if whole else backend.views(run.b, block)))
            if (shape := tuple(some.data_shape)) not in self.work:
                self.work[shape] = backend.full(shape, 0.0)
        kept = math.prod(A.image_shape) * backend.dtype.itemsize * len(blocks) <= backend.cache_bytes
        self._computed = None if kept or whole else backend.full(A.image_shape, 0.0)
        if whole:
            if self._left.columns is None:
                self._left.columns = self._inverse(self.parts[0], None)
            self.parts[0].columns = self._left.columns
        elif kept:
            sums = [self._column_sums(part, None) for part in self.parts]
            self._largest = self._largest_of(sums) if compared else None
            for part, columns in zip(self.parts, sums, strict=True):
                backend.reciprocal(columns, NOTHING, self._largest)
                part.columns = columns
        elif compared:
            self._largest = self._largest_of(self._column_sums(part, self._computed) for part in self.parts)
        if not whole:
            run.b = None  # the blocks have copies

    def _largest_of(self, sums: Iterable[Array]) -> float:
        return max([0.0, *map(self._backend.largest, sums)])

    def rows(self, ones: Array) -> list[Array]:
        """R^-1 of each block; ``ones`` is an image's work array."""
        if self._left.rows is not None:
            return [self._left.rows]
        self._backend.fill(ones, 1.0)
        rows = [part.A.forward(ones) for part in self.parts]
        largest = self._largest_of(rows)
        for sums in rows:
            self._backend.reciprocal(sums, NOTHING, largest)
        if len(rows) == 1:
            self._left.rows = rows[0]
        return rows

    def columns(self, part: Block) -> Array:
        """C^-1 of a block; overwrites the work array of its shape where it has to be computed."""
        return self._inverse(part, self._computed) if part.columns is None else part.columns

    def _inverse(self, part: Block, out: Array | None) -> Array:
        columns = self._column_sums(part, out)
        self._backend.reciprocal(columns, NOTHING, self._largest)
        return columns

    def _column_sums(self, part: Block, out: Array | None) -> Array:
        ones = self.work[tuple(part.A.data_shape)]
        self._backend.fill(ones, 1.0)
        return part.A.back(ones, out=out)
