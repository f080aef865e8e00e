"""Which tile of ``packed`` a product of given sizes takes on a CPU, and whether A is packed by a pass.

A tile costs its multiply-adds, and for each k something more and what it reads of A and B; tiles beyond the result's
edge are multiplied whole, and a launch costs something, too. What a record says of the tile bounds how many sums are
kept: these fill the registers. A tile is another program, which takes a second to build: the record's own stays where
no other is much cheaper. The numbers are the best fit to times on two CPU runtimes (decision choice-of-configuration).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuopt.configuration import Configuration, complete, variants

VARIANT = "packed"
# Of a multiply-add of a vector: what a tile takes beside its own at each k, and for each row and each vector of it.
_A_STEP, _A_LOAD = 4.0, 0.25
_A_LAUNCH = 5e4  # some 10 us of a core
_MUCH = 1.12
# A is packed by a pass where it is long enough for a launch, and where there are many columns. As it lies, it is then
# slower to read by 2 % of the product; transposed, where it is read more than once, by half of it.
_LONG = 30_000
_MANY = 1500


class Estimate(NamedTuple):
    """A configuration, and what the model says that its multiply-adds cost, in vectors' multiply-adds."""

    configuration: Configuration
    cost: float


def fitted(record: Configuration, m: int, n: int, k: int, transpose_a: bool) -> Configuration:
    """Return the record's configuration with the tile that a product (m, k) by (k, n) takes. A configuration of another
    variant stays as it is."""
    listed = explain(record, m, n, k, transpose_a)
    if not listed:
        return record
    own, least = listed[0], min(listed, key=lambda one: one.cost)
    return least.configuration if own.cost > _MUCH * least.cost else own.configuration


def explain(record: Configuration, m: int, n: int, k: int, transpose_a: bool) -> list[Estimate]:
    """Return what the model gives the record's tile, and then every one that keeps no more sums; none for another
    variant."""
    if record.variant != VARIANT:
        return []
    given = complete("gemm", record).parameters
    own = given["ROWS"], given["VECTORS"]
    listed = []
    for rows, vectors in (own, *_tiles(own[0] * own[1])):
        columns = vectors * given["WIDTH"]
        tile = {"ROWS": rows, "VECTORS": vectors, "PASS": int(_by_pass(m * k, n, columns, transpose_a))}
        cost = k * _cost(m, n, rows, vectors, columns) + _A_LAUNCH
        listed.append(Estimate(Configuration(VARIANT, **(given | tile)), cost))
    return listed


def _by_pass(elements: int, n: int, columns: int, transpose_a: bool) -> bool:
    return elements >= _LONG and (n >= _MANY or (transpose_a and n > columns))


def _tiles(most: int) -> Iterator[tuple[int, int]]:
    """Rows and vectors of the tiles that keep at most so many vectors of sums, the table's own levels."""
    levels = {one.name: one.levels for row in variants("gemm") if row.name == VARIANT for one in row.parameters}
    for rows in levels["ROWS"]:
        for vectors in levels["VECTORS"]:
            if rows * vectors <= most:
                yield rows, vectors


def _cost(m: int, n: int, rows: int, vectors: int, columns: int) -> float:
    """Of one k."""
    tiles = -(-m // rows) * -(-n // columns)
    return tiles * (rows * vectors + _A_STEP + _A_LOAD * (rows + vectors))
