"""Loops of a listing, from its jumps: instructions that can all be reached from each other, and inside them again,
without the way back to where they are entered. Which way a jump goes says little: compilers put the test of a loop at
its end and jump into its middle, and jump back from code that they put aside."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator

from gpuopt.lab.compiled.listing import Loop

Jump = tuple[int, int]
_DEEPEST = 8  # loops inside each other; each level takes a pass over the listing


def loops_of(count: int, jumps: Iterable[Jump], ends: Collection[int]) -> tuple[Loop, ...]:
    """The loops among ``count`` instructions, outer ones first. ``jumps`` are pairs of a jump's place and its target's;
    ``ends`` the places that do not go on to the next instruction: jumps without a condition, and returns. A loop
    reaches from its first instruction in the listing to its last."""
    known = [(place, target) for place, target in jumps if 0 <= place < count and 0 <= target < count]
    if not any(target <= place for place, target in known):
        return ()
    starts = sorted({0, *(target for _, target in known), *(p + 1 for p, _ in known), *(p + 1 for p in ends)})
    starts = [start for start in starts if 0 <= start < count]
    follow = _follow(starts, known, set(ends))
    found: set[Loop] = set()
    groups = list(_reached(follow))
    for _ in range(_DEEPEST):
        groups = [loop for group in groups for loop in _cycles(group, follow)]
        for loop in groups:
            after = max(loop) + 1
            found.add(Loop(starts[min(loop)], (starts[after] if after < len(starts) else count) - 1))
    return tuple(sorted(found, key=lambda loop: (loop.first, -loop.last)))


def _follow(starts: list[int], jumps: list[Jump], ends: set[int]) -> list[list[int]]:
    """The blocks that may follow each: blocks begin at ``starts``."""
    follow: list[list[int]] = [[] for _ in starts]
    for place, target in jumps:
        follow[bisect_right(starts, place) - 1].append(bisect_right(starts, target) - 1)
    for block in range(len(starts) - 1):
        if starts[block + 1] - 1 not in ends:
            follow[block].append(block + 1)
    return follow


def _reached(follow: list[list[int]]) -> Iterator[list[int]]:
    """The blocks that are reached from the first; then, of those that only a table leads to, or nothing, as to padding,
    what is reached from the next, without those before."""
    seen = [False] * len(follow)
    for root in range(len(follow)):
        stack = [] if seen[root] else [root]
        seen[root] = True
        group = list(stack)
        while stack:
            fresh = [each for each in dict.fromkeys(follow[stack.pop()]) if not seen[each]]
            for each in fresh:
                seen[each] = True
            stack += fresh
            group += fresh
        if group:
            yield group


def _cycles(group: list[int], follow: list[list[int]]) -> Iterator[list[int]]:
    """The blocks of each loop in a group of blocks that no other loop there holds. The ways back to where it is entered
    are taken out of ``follow``, which leaves the loops inside it."""
    parts = list(_components(group, follow))
    part_of = {block: number for number, part in enumerate(parts) for block in part}
    entries: set[int] = set()
    for block in group:
        entries.update(each for each in follow[block] if each in part_of and part_of[each] != part_of[block])
    for number, part in enumerate(parts):
        if len(part) == 1 and part[0] not in follow[part[0]]:
            continue
        entered = entries.intersection(part) or {min(part)}
        for block in part:
            follow[block] = [each for each in follow[block] if each not in entered or part_of.get(each) != number]
        yield part


def _components(group: list[int], follow: list[list[int]]) -> Iterator[list[int]]:
    """Blocks of a group that can be reached from each other; Tarjan, "Depth-First Search and Linear Graph Algorithms"
    (1972)."""
    inside = set(group)
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    held: dict[int, None] = {}  # in the order of their numbers
    for root in group:
        if root in number:
            continue
        stack = [(root, iter(follow[root]))]
        number[root] = lowest[root] = len(number)
        held[root] = None
        while stack:
            block, rest = stack[-1]
            for each in rest:
                if each not in inside:
                    continue
                if each not in number:
                    number[each] = lowest[each] = len(number)
                    held[each] = None
                    stack.append((each, iter(follow[each])))
                    break
                if each in held:
                    lowest[block] = min(lowest[block], number[each])
            else:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[block])
                if lowest[block] == number[block]:
                    part: list[int] = []
                    while not part or part[-1] != block:
                        part.append(held.popitem()[0])
                    yield part
