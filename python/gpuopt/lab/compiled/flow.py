"""Loops of a listing whose compiler does not keep their instructions together.

A loop is what can run again and again: a strongly connected part of the graph of jumps. What it holds is searched again
without the jumps to its first block, which finds loops in loops (B. Steensgaard, "Sequentializing program dependence
graphs for irreducible programs", 1993). Two loops that begin with the same block are one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gpuopt.lab.compiled.listing import Loop

MOST_WORK = 8  # looks at each block, on average; loops that lie deeper stay as they are
LEAST_WORK = 1000


def whole_loops(
    count: int, jumps: Mapping[int, Sequence[int]], ends: Collection[int]
) -> tuple[list[int], tuple[Loop, ...]]:
    """An order of ``count`` instructions in which each loop's stand together and what runs before others stands before
    them, as places in the listing; and the loops in this order.

    ``jumps`` has the targets of each jump, ``ends`` are places after which the next instruction does not follow: jumps
    without condition, and returns.
    """
    found = {0, *(target for targets in jumps.values() for target in targets)}
    starts = sorted(at for at in found | {at + 1 for at in (*jumps, *ends)} if at < count)
    number = {at: block for block, at in enumerate(starts)}
    stops = [*starts[1:], count]
    after: list[list[int]] = []
    for block, stop in enumerate(stops):
        following = {number[target] for target in jumps.get(stop - 1, ()) if target < count}
        if stop - 1 not in ends and stop < count:
            following.add(block + 1)
        after.append(sorted(following, reverse=True))  # what is visited last comes first
    order: list[int] = []
    loops: list[Loop] = []
    work = MOST_WORK * len(starts) + LEAST_WORK

    def add(blocks: Sequence[int], head: int | None) -> None:
        nonlocal work
        work -= len(blocks)
        for part in _parts(blocks, head, after):
            first = len(order)
            repeats = len(part) > 1 or part[0] in after[part[0]]
            if 1 < len(part) <= work:
                add([part[0], *sorted(part[1:])], part[0])
            else:
                for block in sorted(part):
                    order.extend(range(starts[block], stops[block]))
            if repeats and part[0] != head:
                loops.append(Loop(first, len(order) - 1))

    add(range(len(starts)), None)
    return order, tuple(sorted(loops, key=lambda loop: (loop.first, -loop.last)))


def _parts(blocks: Sequence[int], head: int | None, after: Sequence[Sequence[int]]) -> list[list[int]]:
    """The strongly connected parts of these blocks without the jumps to ``head``, in the order in which they run, each
    with the block first by which it is entered (R. Tarjan, 1972)."""
    inside = set(blocks)
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_blocks: list[int] = []
    is_open: set[int] = set()
    parts: list[list[int]] = []
    for root in blocks:
        if root in index:
            continue
        found: list[list[int]] = []
        path = [(root, iter(after[root]))]
        index[root] = low[root] = len(index)
        open_blocks.append(root)
        is_open.add(root)
        while path:
            block, rest = path[-1]
            for following in rest:
                if following == head or following not in inside:
                    continue
                if following not in index:
                    index[following] = low[following] = len(index)
                    open_blocks.append(following)
                    is_open.add(following)
                    path.append((following, iter(after[following])))
                    break
                if following in is_open:
                    low[block] = min(low[block], index[following])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[block])
                if low[block] == index[block]:
                    at = len(open_blocks) - 1
                    while open_blocks[at] != block:
                        at -= 1
                    part = open_blocks[at:]
                    del open_blocks[at:]
                    is_open.difference_update(part)
                    found.append(part)
        parts += reversed(found)
    return parts
