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
_MUCH = 1.05
# Columns from which a product is long enough for a pass over A: as it lies, A is slower to read by 3 to 5 % of the
# product. Transposed and as it lies it takes twice the time of a product: rows that are a power of two apart.
_WORTH_A_PASS = 1500


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
    by_pass = int(transpose_a or n >= _WORTH_A_PASS)
    return [
        Estimate(Configuration(VARIANT, **(given | {"ROWS": rows, "VECTORS": vectors, "PASS": by_pass})), cost)
        for rows, vectors in (own, *_tiles(own[0] * own[1]))
        for cost in [k * _cost(m, n, rows, vectors, given["WIDTH"]) + _A_LAUNCH]
    ]


def _tiles(most: int) -> Iterator[tuple[int, int]]:
    """Rows and vectors of the tiles that keep at most so many vectors of sums, the table's own levels."""
    levels = {one.name: one.levels for row in variants("gemm") if row.name == VARIANT for one in row.parameters}
    for rows in levels["ROWS"]:
        for vectors in levels["VECTORS"]:
            if rows * vectors <= most:
                yield rows, vectors


def _cost(m: int, n: int, rows: int, vectors: int, width: int) -> float:
    """Of one k."""
    tiles = -(-m // rows) * -(-n // (vectors * width))
    return tiles * (rows * vectors + _A_STEP + _A_LOAD * (rows + vectors))
