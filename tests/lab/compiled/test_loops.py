"""Loops from jumps, as compilers lay them out, and which of them is the one of interest."""

from __future__ import annotations

from gpuopt.lab.compiled.listing import Instruction, Listing, Loop
from gpuopt.lab.compiled.loops import loops_of


def test_loops_inside_each_other() -> None:
    assert loops_of(10, [(6, 4), (8, 2)], [9]) == (Loop(2, 8), Loop(4, 6))
    assert loops_of(10, [(5, 2), (8, 2)], [9]) == (Loop(2, 8),)  # one that is left in two places
    assert loops_of(10, [(3, 3)], [9]) == (Loop(3, 3),)
    assert loops_of(10, [(3, 7), (5, 9)], [9]) == ()


def test_a_loop_that_is_entered_in_its_middle() -> None:
    """0 jumps over the step 1-3 to the test 4-5; 7 jumps back to the step, which goes on to the test."""
    assert loops_of(10, [(0, 4), (5, 8), (7, 1)], [0, 7, 9]) == (Loop(1, 7),)


def test_padding_is_no_entry() -> None:
    """Product and bounds tests of spmv's `basic` as PoCL 3.1 has them: padding at 17, behind the jump at 16, goes on to
    18, but nothing reaches it."""
    jumps = [(0, 9), (11, 5), (16, 22), (21, 2), (24, 18), (26, 18), (31, 18)]
    assert loops_of(32, jumps, [0, 16, 31]) == (Loop(2, 31), Loop(18, 31))


def test_code_put_aside_is_no_loop() -> None:
    """1 jumps to 6, which is put behind the end at 5 and jumps back to 2."""
    assert loops_of(8, [(1, 6), (7, 2)], [5, 7]) == ()


def test_jumps_to_nowhere() -> None:
    assert loops_of(4, [(2, -1), (9, 0), (1, 4), (-3, 0)], [-5, 77]) == ()
    assert loops_of(0, [], []) == ()


def test_two_ways_into_a_loop() -> None:
    assert loops_of(8, [(0, 4), (6, 2)], [7]) == (Loop(2, 6),)


def test_the_innermost_loop_is_the_one_that_multiplies_and_adds_most() -> None:
    """Each loop is taken to run ten times."""

    def innermost(fused: list[int], loops: list[Loop]) -> Loop | None:
        said = [
            Instruction("", "", "alu", frozenset({"fma"}) if place in fused else frozenset()) for place in range(40)
        ]
        return Listing("k", said, loops).innermost

    around, short, long, first = Loop(10, 39), Loop(12, 14), Loop(20, 35), Loop(0, 9)
    assert innermost([], []) is None
    assert innermost([], [around, short, long]) == long
    assert innermost([13], [around, short, long]) == short
    assert innermost([1, 2, 13], [first, around, short]) == short
    assert innermost([*range(10)], [first, around]) == first
    assert innermost([15, 16], [around, short]) == short  # one that holds another is none
