"""Loops put together: made-up programs of random jumps."""

from __future__ import annotations

import random

import pytest

from gpuopt.lab.compiled.flow import whole_loops
from gpuopt.lab.compiled.listing import Loop


def test_loops_in_loops_and_a_loop_of_one() -> None:
    order, loops = whole_loops(8, {2: [2], 4: [1], 6: [0]}, {7})
    assert order == list(range(8))
    assert loops == (Loop(0, 6), Loop(1, 4), Loop(2, 2))


def test_no_jumps() -> None:
    assert whole_loops(3, {}, {2}) == ([0, 1, 2], ())


def test_what_is_never_reached_stays() -> None:
    order, loops = whole_loops(6, {1: [5], 3: [2]}, {1, 3, 5})
    assert sorted(order) == list(range(6))
    assert [order[loop.first : loop.last + 1] for loop in loops] == [[2, 3]]


@pytest.mark.parametrize("seed", range(100))
def test_random_jumps(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(2, 40)
    jumps = {at: [draw.randrange(count)] for at in draw.sample(range(count), draw.randint(1, count))}
    ends = {at for at in range(count) if draw.random() < 0.2} | {count - 1}
    order, loops = whole_loops(count, jumps, ends)
    assert sorted(order) == list(range(count))
    place = {at: new for new, at in enumerate(order)}
    after = {at: {*jumps.get(at, ()), *(() if at in ends else (at + 1,))} for at in range(count)}

    def reached(at: int) -> set[int]:
        seen: set[int] = set()
        todo = [at]
        while todo:
            new = after[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    again = {at for at in range(count) if at in reached(at)}
    inside = {at for loop in loops for at in order[loop.first : loop.last + 1]}
    assert inside == again
    for loop in loops:
        members = order[loop.first : loop.last + 1]
        assert all(set(members) <= reached(at) for at in members)
        assert any(members[0] in after[at] for at in members)
    for at in {0} | reached(0):  # what goes back stays inside of a loop, which begins there
        for target in after[at]:
            if place[target] <= place[at]:
                assert any(loop.first == place[target] and place[at] <= loop.last for loop in loops)
