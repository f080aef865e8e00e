"""Loops of a listing, from its jumps: a jump back closes one where its target cannot be passed by. Compilers also jump
back from code that they put aside, and that is none. Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm"
(2001)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping

from gpuopt.lab.compiled.listing import Loop

Jump = tuple[int, int]


def loops_of(count: int, jumps: Iterable[Jump], ends: Collection[int]) -> tuple[Loop, ...]:
    """The loops among ``count`` instructions, outer ones first. ``jumps`` are pairs of a jump's place and its target's;
    ``ends`` the places that do not go on to the next instruction: jumps without a condition, and returns. Of several
    jumps to one target the last one ends the loop."""
    known = [(place, target) for place, target in jumps if 0 <= place < count and 0 <= target < count]
    if not any(target <= place for place, target in known):
        return ()
    starts = sorted({0, *(target for _, target in known), *(p + 1 for p, _ in known), *(p + 1 for p in ends)})
    starts = [start for start in starts if start < count]
    follow = _follow(starts, known, set(ends), count)
    order, above = _dominators(follow)
    last: dict[int, int] = {}
    for place, target in known:
        source, header = bisect_right(starts, place) - 1, bisect_right(starts, target) - 1
        if target <= place and source in order and _dominates(header, source, order, above):
            last[target] = max(last.get(target, place), place)
    return tuple(Loop(first, last[first]) for first in sorted(last))


def _follow(starts: list[int], jumps: list[Jump], ends: set[int], count: int) -> list[list[int]]:
    """The blocks that may follow each: blocks begin at ``starts``."""
    follow: list[list[int]] = [[] for _ in starts]
    for place, target in jumps:
        follow[bisect_right(starts, place) - 1].append(bisect_right(starts, target) - 1)
    for block in range(len(starts) - 1):
        if starts[block + 1] - 1 not in ends:
            follow[block].append(block + 1)
    return follow


def _dominators(follow: list[list[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """Of the blocks that are reached from the first: their numbers in reverse post-order, and the nearest block that
    each is only reached through."""
    done: list[int] = []
    seen = {0}
    stack = [(0, iter(follow[0]))]
    while stack:
        block, rest = stack[-1]
        for next_block in rest:
            if next_block not in seen:
                seen.add(next_block)
                stack.append((next_block, iter(follow[next_block])))
                break
        else:
            done.append(block)
            stack.pop()
    order = {block: number for number, block in enumerate(reversed(done))}
    before: dict[int, list[int]] = {block: [] for block in order}
    for block in order:
        for each in follow[block]:
            before[each].append(block)
    above = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in list(order)[1:]:
            known = [each for each in before[block] if each in above]
            nearest = known[0]
            for each in known[1:]:
                nearest = _meet(nearest, each, order, above)
            changed |= above.get(block) != nearest
            above[block] = nearest
    return order, above


def _meet(one: int, other: int, order: Mapping[int, int], above: Mapping[int, int]) -> int:
    while one != other:
        while order[one] > order[other]:
            one = above[one]
        while order[other] > order[one]:
            other = above[other]
    return one


def _dominates(header: int, block: int, order: Mapping[int, int], above: Mapping[int, int]) -> bool:
    while order[block] > order[header]:
        block = above[block]
    return block == header
