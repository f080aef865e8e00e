"""What SpMV's kernels load and store, counted by walking their loops as the .cl files have them: one work-group, one
entry after the other. Nothing here is taken from the declarations that are held against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Walk:
    """One product of one vector on a matrix of these offsets, and what its loops ask for."""

    rows: int
    cols: int
    offsets: list[int]  # ascending
    grid: int
    bands: list[tuple[int, int, int, int]]  # first, count, dx, dy
    level: dict[str, int]
    vectors: int = 1
    index: int = 0  # loads of offsets from global memory
    values: int = 0
    vector: int = 0  # loads of x
    sums: int = 0  # loads and stores of sums in y
    local: int = 0  # elements written to and read from local memory
    fetches: int = 0
    groups: int = 0
    touched: set[tuple[int, int]] = field(default_factory=set)  # entries inside the matrix that were loaded

    def is_inside(self, row: int, offset: int) -> bool:
        return row < self.rows and 0 <= row + offset < self.cols

    def load(self, row: int, offset: int) -> None:
        self.values += 1
        if self.is_inside(row, offset):
            self.touched.add((row, offset))

    def test_row(self, row: int) -> None:
        for offset in self.offsets:
            self.index += 1
            if self.is_inside(row, offset):
                self.load(row, offset)
                self.vector += 1


def tested(walk: Walk) -> None:
    for row in range(walk.rows):
        walk.test_row(row)


def in_local_memory(walk: Walk, rows_each: int, body: Callable[[Walk], None]) -> None:
    body(walk)
    walk.groups = -(-walk.rows // (rows_each * walk.level["LOCAL"]))
    walk.index = walk.groups * len(walk.offsets)


def four(walk: Walk) -> None:
    for row in range(0, walk.rows, 4):
        for offset in walk.offsets:
            walk.index += 1
            for i in range(row, row + 4):
                walk.load(i, offset)
                walk.vector += 0 <= i + offset < walk.cols


def pixels(walk: Walk) -> None:
    four(walk)
    walk.vector = 0
    for row in range(0, walk.rows, 4):
        for offset in walk.offsets:
            walk.fetches += 1 if (row + offset) % 4 == 0 else 2


def padded(walk: Walk) -> None:
    for row in range(0, walk.rows, walk.level["ROWS"]):
        for offset in walk.offsets:
            walk.index += 1
            for i in range(row, row + walk.level["ROWS"]):
                walk.load(i, offset)
                walk.vector += 1


def interior(walk: Walk) -> None:
    each, block = walk.level["ROWS"], walk.level["LOCAL"] * walk.level["ROWS"]
    for first in range(0, walk.rows, block):
        end = first + block
        if end <= walk.rows and first + walk.offsets[0] >= 0 and end + walk.offsets[-1] <= walk.cols:
            for row in range(first, end, each):
                for offset in walk.offsets:
                    walk.index += 1
                    for i in range(row, row + each):
                        walk.load(i, offset)
                        walk.vector += 1
        else:
            for row in range(first, min(end, walk.rows)):
                walk.test_row(row)


def window(from_: int, count: int, width: int) -> int:
    """Elements of the aligned vectors that cover width neighbouring windows of `count` from `from_` on."""
    quad = min(width, 4)
    start = from_ // quad * quad
    loaded = 0
    while start < from_ + count + width - 1:
        start += quad
        loaded += quad
    return loaded


def banded(walk: Walk) -> None:
    each, block = walk.level["ROWS"], walk.level["LOCAL"] * walk.level["ROWS"]
    quad, low, high = min(each, 4), min(0, walk.offsets[0]), max(0, walk.offsets[-1])
    for first in range(0, walk.rows, block):
        end = first + block
        if end <= walk.rows and first + low >= quad and end + high + quad <= walk.cols:
            for row in range(first, end, each):
                for offset in walk.offsets:
                    for i in range(row, row + each):
                        walk.load(i, offset)
                walk.vector += sum(window(row + at, count, each) for at, count, _, _ in walk.bands)
        else:
            for row in range(first, min(end, walk.rows)):
                walk.test_row(row)


def tiles(walk: Walk) -> None:
    tx, ty, each, wide = (walk.level[name] for name in ("TILE_X", "TILE_Y", "ROWS", "WIDE"))
    quad, height, lines = min(wide, 4), ty * each, -(-walk.rows // walk.grid)
    reach_x = max(max(-dx, dx + count - 1, 0) for _, count, dx, _ in walk.bands)
    reach_y = max(abs(dy) for *_, dy in walk.bands)
    margin = -(-reach_x // quad) * quad
    low, high = min(0, walk.offsets[0]), max(0, walk.offsets[-1])
    for top in range(0, lines, height):
        for left in range(0, walk.grid, tx * wide):
            for j in range(height + 2 * reach_y):
                for i in range(tx * wide + 2 * margin):
                    walk.local += 1
                    walk.vector += 0 <= (top + j - reach_y) * walk.grid + left + i - margin < walk.cols
            first = top * walk.grid + left
            end = first + (height - 1) * walk.grid + tx * wide
            inner = end <= walk.rows and first + low >= 0 and end + high <= walk.cols
            for line in range(top, top + height):
                for across in range(left, min(left + tx * wide, walk.grid), wide):
                    row = line * walk.grid + across
                    if inner:
                        walk.local += sum(window(dx, count, wide) for _, count, dx, _ in walk.bands)
                    for i in range(row, row + wide):
                        if inner:
                            for offset in walk.offsets:
                                walk.load(i, offset)
                        elif i < walk.rows:
                            walk.test_row(i)


def symmetric(walk: Walk) -> None:
    tx, ty, each = (walk.level[name] for name in ("TILE_X", "TILE_Y", "ROWS"))
    upper, grid = [offset for offset in walk.offsets if offset >= 0], walk.grid
    reach, lines = upper[-1], -(-walk.rows // walk.grid)
    for top in range(0, lines, ty * each):
        for left in range(0, grid, tx):
            first = top * grid + left
            end = first + (ty * each - 1) * grid + tx
            inner = end <= walk.rows and first - reach >= 0 and end + reach <= walk.rows
            for ly in range(ty):
                for across in range(left, min(left + tx, grid)):
                    rows = [(top + ly + r * ty) * grid + across for r in range(each)]
                    walk.index += len(upper) * (1 if inner else sum(i < walk.rows for i in rows))
                    for i in rows:
                        for offset in upper if i < walk.rows else ():
                            if i + offset < walk.rows:
                                walk.load(i, offset)
                                walk.vector += 1
                            if offset > 0 and i - offset >= 0:
                                walk.load(i - offset, offset)
                                walk.vector += 1


def symmetric_sliced(walk: Walk) -> None:
    size, items, width, rows = walk.level["SLICE"], walk.level["ITEMS"], walk.level["WIDTH"], walk.rows
    upper = [offset for offset in walk.offsets if offset >= 0]
    slices, reach = -(-rows // size), upper[-1]

    def add(count: int, row: int, diagonals: list[int]) -> None:
        walk.values += max(count, 0) * len(diagonals)
        walk.vector += max(count, 0) * len(diagonals)
        walk.sums += 2 * max(count, 0)
        walk.touched |= {(i, o) for i in range(row, row + max(count, 0)) for o in diagonals if i + o < rows}

    for item in range(items):
        first, last = slices * item // items, slices * (item + 1) // items
        begin, end = first * size, min(rows, last * size)
        if begin >= end:
            continue
        walk.sums += end - begin  # zeroed
        for o in upper:
            j, until = max(0, begin - o), min(begin, end - o)
            while j < until:
                following = min(until, (j // size + 1) * size)
                add(following - j, j, [o])
                j = following
        for row in range(begin, end, size):
            count, k = min(size, rows - row), 0
            while k + 4 <= len(upper) and count <= rows - row - upper[k + 3]:
                add(count, row, upper[k : k + 4])
                k += 4
            for o in upper[k:]:
                add(min(count, rows - row - o), row, [o])
            k = int(upper[0] == 0)
            while k < len(upper):
                o = upper[k]
                room = end - row - o
                if k + 4 <= len(upper) and upper[k + 3] == o + 3 and min(count, room) > 3 + width:
                    whole = (min(count, room) - 3) // width * width
                    add(whole, row, upper[k : k + 4])
                    for d in range(4):
                        rest = min(count, room - d) - whole - (3 - d)
                        add(3 - d, row, [upper[k + d]])
                        add(rest, row, [upper[k + d]])
                    k += 4
                else:
                    add(min(count, room), row, [o])
                    k += 1
    assert reach == walk.offsets[-1]


def blocks(walk: Walk) -> None:
    block = walk.level["BLOCK"] if "BLOCK" in walk.level else walk.level["SLICE"]
    for first in range(0, walk.rows, block):
        for offset in walk.offsets:
            walk.index += 1
            for i in range(first, min(first + block, walk.rows)):
                if walk.is_inside(i, offset):
                    walk.load(i, offset)
                    walk.vector += 1


def unpacked(walk: Walk) -> None:
    blocks(walk)
    walk.index *= 3  # 4 bytes of an offset, 8 of a place


def columns(walk: Walk) -> None:
    width = walk.level["WIDTH"]
    for row in range(walk.rows):
        column = 0
        while column < walk.vectors:
            taken = width if column + width <= walk.vectors else 1
            for offset in walk.offsets:
                walk.index += 1
                if walk.is_inside(row, offset):
                    walk.load(row, offset)
                    walk.vector += taken
            column += taken


WALKS: dict[str, Callable[[Walk], None]] = {
    "basic": tested,
    "aligned": tested,
    "local_offsets": lambda walk: in_local_memory(walk, 1, tested),
    "vectorized": lambda walk: in_local_memory(walk, 4, four),
    "image": lambda walk: in_local_memory(walk, 4, pixels),
    "coarse": four,
    "padded": padded,
    "interior": interior,
    "resident": interior,
    "banded": banded,
    "tiles": tiles,
    "symmetric": symmetric,
    "row_blocks": blocks,
    "unpacked": unpacked,
    "sliced": blocks,
    "symmetric_sliced": symmetric_sliced,
    "columns": columns,
    "columns_sliced": columns,
}
