"""What a search tries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuopt.configuration import Configuration
from gpuopt.lab.run.search import EXHAUSTIVE, MANY, ROUNDS, search
from made_up_tables import variant


class Clock:
    """Times made up from levels; None is what cannot run. Fails where anything is measured twice."""

    def __init__(self, time: Callable[[dict[str, int]], float | None]) -> None:
        self.time = time
        self.seen: list[Configuration] = []

    def __call__(self, configurations: list[Configuration]) -> dict[Configuration, float]:
        assert configurations
        assert len(set(configurations)) == len(configurations)
        assert not set(configurations) & set(self.seen)
        self.seen += configurations
        times = {configuration: self.time(configuration.parameters) for configuration in configurations}
        return {configuration: time for configuration, time in times.items() if time is not None}


LEVELS = (1, 2, 4, 8)
BIG = (("A", LEVELS, 1), ("B", LEVELS, 8), ("C", LEVELS, 1), ("D", LEVELS, 2))
BEST = {"A": 4, "B": 1, "C": 8, "D": 2}
SMALL = (("A", LEVELS, 1), ("B", (1, 2, 4), 4), ("C", (1, 2), 1))


def separable(levels: dict[str, int]) -> float:
    return 1 + sum(abs(np.log2(level / BEST[name])) for name, level in levels.items() if name in BEST)


def fastest(times: dict[Configuration, float]) -> dict[str, int]:
    return min(times, key=lambda configuration: times[configuration]).parameters


def test_a_small_table_is_tried_out_whole() -> None:
    clock = Clock(separable)
    found = search(variant(*SMALL), clock)
    assert len(found) == len(clock.seen) == EXHAUSTIVE == 24
    assert fastest(found) == {"A": 4, "B": 1, "C": 2}


def test_coordinates_find_the_best_of_what_does_not_interact() -> None:
    clock = Clock(separable)
    found = search(variant(*BIG), clock)
    assert fastest(found) == BEST
    assert clock.seen[0].parameters == {"A": 1, "B": 8, "C": 1, "D": 2}
    assert len(clock.seen) <= 1 + 2 * 3 * len(BIG)  # of 256: one round finds it, another finds no more


def test_a_round_without_gain_is_the_last() -> None:
    clock = Clock(lambda levels: 1 - 0.002 * levels["A"] / 8)
    search(variant(*BIG), clock)
    assert len(clock.seen) == 1 + 3 * len(BIG)


def test_rounds_are_limited() -> None:
    """A staircase that each round climbs by one step only: B may follow A, and A then B."""
    steps = range(12)

    def stairs(levels: dict[str, int]) -> float:
        a, b = levels["A"], levels["B"]
        return 100.0 - 4 * (a + b) if b in (a, a + 1) else 1000.0

    clock = Clock(stairs)
    found = search(variant(("B", steps, 0), ("A", steps, 0)), clock)
    assert fastest(found) == {"A": ROUNDS, "B": ROUNDS}


def test_what_breaks_a_constraint_is_left_behind() -> None:
    def constrained(levels: dict[str, int]) -> float | None:
        return separable(levels) if levels["A"] >= levels["C"] else None

    found = search(variant(*BIG), Clock(constrained))
    assert all(configuration.parameters["A"] >= configuration.parameters["C"] for configuration in found)
    assert fastest(found)["A"] >= fastest(found)["C"]
    # A start that cannot run is left as soon as a neighbour can.
    found = search(variant(*BIG), Clock(lambda levels: separable(levels) if levels["B"] < 8 else None))
    assert fastest(found) == BEST
    clock = Clock(lambda levels: None)
    assert search(variant(*BIG), clock) == {}
    assert len(clock.seen) == 1 + 3 * len(BIG)


def test_each_accuracy_is_searched_by_itself_from_the_best_of_the_standard_one() -> None:
    def time(levels: dict[str, int]) -> float:
        return separable(levels) * (0.5 if levels["HALF"] else 1)

    clock = Clock(time)
    found = search(variant(*BIG, half=True), clock)
    assert fastest(found) == BEST | {"HALF": 1}
    first = next(index for index, seen in enumerate(clock.seen) if seen.parameters["HALF"] == 1)
    assert clock.seen[first].parameters == BEST | {"HALF": 1}
    assert all(seen.parameters["HALF"] == 1 for seen in clock.seen[first:])
    assert fastest({c: t for c, t in found.items() if c.parameters["HALF"] == 0}) == BEST | {"HALF": 0}


def test_a_level_of_accuracy_does_not_make_a_table_big() -> None:
    clock = Clock(lambda levels: 1.0)
    search(variant(*SMALL, half=True), clock)
    assert len(clock.seen) == 2 * EXHAUSTIVE


def test_of_many_accuracies_only_the_first_is_searched() -> None:
    made = variant(*BIG, half=True)
    made.parameters[-1].levels = list(range(MANY + 1))
    clock = Clock(lambda levels: separable(levels) + levels["HALF"])
    search(made, clock)
    others = [seen.parameters for seen in clock.seen if seen.parameters["HALF"] > 0]
    assert others == [BEST | {"HALF": half} for half in range(1, MANY + 1)]


def test_what_is_not_wanted_is_not_tried() -> None:
    made = variant(*BIG, half=True)
    clock = Clock(separable)
    search(made, clock, lambda configuration: configuration.parameters["HALF"] == 1)
    assert {seen.parameters["HALF"] for seen in clock.seen} == {1}
    clock = Clock(separable)
    found = search(made, clock, lambda c: c.parameters["C"] < 8 and c.parameters["HALF"] == 0)
    assert fastest(found) == BEST | {"C": 4, "HALF": 0}
    assert all(seen.parameters["C"] < 8 for seen in clock.seen)
    assert search(made, Clock(separable), lambda configuration: False) == {}


def test_a_standard_level_that_is_not_wanted_leaves_the_others() -> None:
    clock = Clock(separable)
    found = search(variant(*SMALL, half=True), clock, lambda c: c.parameters["B"] != 4)
    assert len(found) == len(clock.seen) == 2 * 16
    found = search(variant(*BIG), Clock(separable), lambda c: c.parameters["A"] > 1 and c.parameters["D"] != 2)
    assert fastest(found) in (BEST | {"D": 1}, BEST | {"D": 4})
    made = variant(*BIG, half=True)
    made.parameters[-1].levels = list(range(MANY + 1))
    clock = Clock(separable)
    search(made, clock, lambda c: c.parameters["A"] > 1 and (c.parameters["A"] != 4 or c.parameters["HALF"] == 0))
    others = [seen.parameters for seen in clock.seen if seen.parameters["HALF"] > 0]
    assert others == [{"A": 2, "B": 1, "C": 1, "D": 1, "HALF": half} for half in range(1, MANY + 1)]
