"""Which tile of ``packed`` a product of given sizes takes on a CPU, and whether A is packed by a pass.

A tile costs its multiply-adds, and for each k something more and what it reads of A and B; tiles beyond the result's
edge are multiplied whole, and a launch costs something, too. What a record says of the tile bounds how many sums are
kept, for these fill the registers, and how wide it is, for that fills local memory. A tile is another program, which
takes a second to build: the record's own stays where no other is much cheaper. The numbers are the best fit to times on
two CPU runtimes (decision choice-of-configuration).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from gpuopt.configuration import Configuration, complete, generation, variants

VARIANT = "packed"
# Multiply-adds of a vector: what a tile takes beside its own at each k, for each of its rows and vectors, and what a
# launch takes, some 10 us of a core.
_A_STEP, _A_LOAD, _A_LAUNCH = 4.0, 0.25, 5e4
_WORTH_ANOTHER_PROGRAM = 1.12  # times as cheap
_FEWEST_PACKED = 30_000  # elements of A; fewer take less time than the launch

# Of a matrix and a vector: lines and columns of a work-item, how many work-items there should be for a core, and of how
# many k each should be.
_LINES, _PANEL, _ITEMS_A_CORE, _SHORTEST = 8, 1024, 16, 256


class Tile(NamedTuple):
    """A tile of ``packed``, and what a product costs by it, in multiply-adds of a vector."""

    rows: int
    vectors: int
    cost: float


def fitted(record: Configuration, batch: int, m: int, n: int, k: int, transpose_a: bool) -> Configuration:
    """Return the record's configuration, which is given in full, with the tile that ``batch`` products (m, k) by (k, n)
    take. A configuration of another variant stays as it is."""
    if record.variant != VARIANT:
        return record
    own, *others = tiles(record, batch, m, n, k)
    least = min(others, key=lambda tile: tile.cost)
    tile = least if own.cost > _WORTH_ANOTHER_PROGRAM * least.cost else own
    # Transposed, A has columns in its panels' rows: to read them as they lie is slow where it is done more than once.
    again = transpose_a and n > tile.vectors * record.parameters["WIDTH"]
    taken = {"ROWS": tile.rows, "VECTORS": tile.vectors, "PASS": int(again and batch * m * k >= _FEWEST_PACKED)}
    return Configuration(VARIANT, **(record.parameters | taken))


def of_vector(record: Configuration, cores: int, m: int, n: int, k: int, beside: bool) -> Configuration:
    """Return what a product of a matrix and a vector takes, where M or N is 1: no tile, for a tile's other rows and
    columns are multiplied too. ``beside`` says that the matrix's k do not lie side by side, but its other axis does. A
    configuration of another variant than the shipped one stays as it is."""
    if record.variant != VARIANT:
        return record
    items = -(-max(m, n) // (_PANEL if beside else _LINES))
    wanted = min(_ITEMS_A_CORE * cores / items, k / _SHORTEST, 256)
    split = 1 << max(0, int(wanted).bit_length() - 1)
    width = record.parameters["WIDTH"]
    return complete("gemm", Configuration("vector", WIDTH=width, LINES=_LINES, PANEL=_PANEL, SPLIT=split))


def tiles(record: Configuration, batch: int, m: int, n: int, k: int) -> list[Tile]:
    """Return the record's tile, and then every one that keeps no more sums and is no wider."""
    given = record.parameters
    own = given["ROWS"], given["VECTORS"]
    return [
        Tile(rows, vectors, batch * k * _cost(m, n, rows, vectors, vectors * given["WIDTH"]) + _A_LAUNCH)
        for rows, vectors in (own, *_within(*own, generation("gemm")))
    ]


@functools.lru_cache(maxsize=16)
def _within(rows: int, vectors: int, of_table: int) -> tuple[tuple[int, int], ...]:
    """Rows and vectors of such tiles, by the levels that a generation of the table has."""
    levels = {one.name: one.levels for row in variants("gemm") if row.name == VARIANT for one in row.parameters}
    return tuple((r, v) for r in levels["ROWS"] for v in levels["VECTORS"] if r * v <= rows * vectors and v <= vectors)


def _cost(m: int, n: int, rows: int, vectors: int, columns: int) -> float:
    """Of one k of one product."""
    count = -(-m // rows) * -(-n // columns)
    return count * (rows * vectors + _A_STEP + _A_LOAD * (rows + vectors))
