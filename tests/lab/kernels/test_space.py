"""Levels and constraints of a kernel."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.kernels import space as space_module
from gpuopt.lab.kernels.expressions import Expression
from gpuopt.lab.kernels.space import Space, levels_of


def space(levels: dict[str, object], *constraints: str) -> Space:
    return Space(levels_of(levels), [Expression(one, "constraints") for one in constraints])


def test_combinations_that_are_admitted() -> None:
    found = space(
        {"A": [1, 2, 4], "B": [1, 2, 4], "T": ["float", "float4"]}, "A * B <= 4", "A == 1 or T == T", "n % A == 0"
    )
    assert [(one["A"], one["B"]) for one in found if one["T"] == "float"] == [
        (1, 1),
        (1, 2),
        (1, 4),
        (2, 1),
        (2, 2),
        (4, 1),
    ]
    assert found.first() == {"A": 1, "B": 1, "T": "float"}
    assert found.broken({"A": 2, "B": 1, "T": "float", "n": 3}).text == "n % A == 0"  # type: ignore[union-attr]
    assert found.broken({"A": 2, "B": 1, "T": "float", "n": 4}) is None


def test_dependent_levels_are_not_enumerated() -> None:
    """Sixteen parameters of 32 levels are 10^24 combinations, of which each but the first fixes the next."""
    names = [f"P{i}" for i in range(16)]
    chained = space({name: range(32) for name in names}, *(f"{b} == {a}" for a, b in itertools.pairwise(names)))
    assert sum(1 for _ in chained) == 32


def test_constraints_of_sizes_end_choices_early_too() -> None:
    """Six parameters of 64 levels are 7 10^10 combinations, of which each but the first fixes the next for n = 3."""
    names = [f"P{i}" for i in range(6)]
    chained = space({name: range(64) for name in names}, *(f"{b} == {a} + n" for a, b in itertools.pairwise(names)))
    assert [one["P5"] for one in chained.admitted({"n": 3})] == list(range(15, 64))
    assert next(chained.admitted({"n": 3})) == {"P0": 0, "P1": 3, "P2": 6, "P3": 9, "P4": 12, "P5": 15}
    assert list(chained.admitted({"n": 64})) == []
    with pytest.raises(ParameterError, match=r"unknown 'n'; known: "):
        next(chained.admitted({}))


def test_a_long_enumeration_tells_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "TOLD_S", 0.0)
    told: list[str] = []
    wide = space({name: range(40) for name in "ABC"}, "A + B + C > n")
    assert next(wide.admitted({"n": 1000}, told.append), None) is None
    assert len(told) == 4
    assert told[0] == "16,384 levels looked at: A=9, B=39"


@pytest.mark.parametrize(
    ("constraint", "levels"),
    [
        ("A != 2.5", ["0.5", "1.0", "0.5f", 2]),
        ("A == 0.5", ["0.5", "0.5f"]),
        ("A in [1, 2]", ["1.0", 2]),
        ("A not in [1, 2.5]", ["0.5", "0.5f", 2]),
        ("2 * A == 5 or A / 2 == 0.25", ["0.5", "2.5", "0.5f"]),
        ("1 / A > 1", ["0.5", "0.5f"]),
        ("max(A, 2) == 2", ["0.5", "1.0", "0.5f", 2]),
    ],
)
def test_levels_that_are_fractions_are_numbers_in_constraints(constraint: str, levels: list[object]) -> None:
    found = space({"A": [0.5, 1.0, 2.5, "0.5f", 2]}, constraint)
    assert [one["A"] for one in found] == levels


def test_no_parameters_are_one_combination() -> None:
    assert list(space({})) == [{}]


def test_thousands_of_parameters() -> None:
    names = [f"P{i}" for i in range(3000)]
    many = space({name: [1, 2] for name in names}, *(f"{b} == {a}" for a, b in itertools.pairwise(names)))
    assert [set(one.values()) for one in many] == [{1}, {2}]


def test_levels_of_other_types() -> None:
    assert levels_of({"ON": [True, False], "R": ["float4"], "S": [2.5]}) == {
        "ON": (1, 0),
        "R": ("float4",),
        "S": ("2.5",),
    }


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ({"A": []}, "^A: "),
        ({"A": 3}, "^A: "),
        ({"A": [1, 1]}, "^A: a level stands twice"),
        ({"A": ["a b"]}, "^A: "),
        ({"A": ["1 -DB=2"]}, "^A: "),
        ({"A": [None]}, "^A: "),
        ({"A": [float("nan")]}, "^A: "),
        ({"2A": [1]}, "is no name of C"),
        ({"A": [2**70]}, "^A: "),
        ({"A": ["x;y"]}, "^A: "),
    ],
)
def test_what_is_no_level(levels: dict[str, object], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        levels_of(levels)


def test_levels_of_a_configuration_are_those_that_were_declared() -> None:
    found = space({"A": [1, 2], "T": ["float", "2.5"]})
    assert found.completed({}, "scaled") == {"A": 1, "T": "float"}
    for two in (2, np.int64(2), np.uint8(2)):
        assert type(found.completed({"A": two}, "scaled")["A"]) is int
    assert found.completed({"T": np.float64(2.5)}, "scaled") == {"A": 1, "T": "2.5"}
    for wrong in (3, 1.0, None, np.array([1, 2]), [1], "x"):
        with pytest.raises(ParameterError, match=r"^A: .* is (no level|none of its levels)"):
            found.completed({"A": wrong}, "scaled")
    with pytest.raises(ParameterError, match=r"^B: scaled has no such parameter; it has A, T"):
        found.completed({"B": 1}, "scaled")


def test_a_constraint_that_admits_nothing_is_named() -> None:
    with pytest.raises(ParameterError, match=r"'A > 9' lets none through by itself"):
        space({"A": [1, 2], "B": [1, 2]}, "B > 1", "A > 9")
    with pytest.raises(ParameterError, match="together they admit no combination"):
        space({"A": [1, 2]}, "A > 1", "A < 2")


def test_what_is_said_of_many_levels_is_short() -> None:
    many = "A: more than 10,000 levels are too many"
    ranges = [(range(end), many) for end in (10_001, 10**12, 10**400)]  # not listed whole: that would take for ever
    for given, says in ((list(range(100_000)), many), *ranges, ("x" * 10_000, "no list of levels")):
        with pytest.raises(ParameterError, match=says) as refused:
            levels_of({"A": given})
        assert len(str(refused.value)) < 300


def test_a_standard_combination_is_not_looked_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuopt.lab.kernels.space.MOST_TRIED", 1000)
    levels = {f"P{number}": [1, 2, 4, 8] for number in range(12)}
    wide = Space(levels_of(levels | {"TILE": [128, 256]}), [Expression("TILE <= n", "constraints")])
    assert wide.standard({"n": 64}) == wide.first()  # nothing is admitted, of 33 million
    assert wide.standard({"n": 128}) == dict.fromkeys(levels, 1) | {"TILE": 128}


WIDE = {f"P{number}": range(10) for number in range(12)}  # 10^12 combinations


@pytest.mark.parametrize("hopeless", ["P11 > 9", "P0 > 3 and P11 == 10"])
def test_a_constraint_on_the_last_of_many_parameters_is_named(monkeypatch: pytest.MonkeyPatch, hopeless: str) -> None:
    monkeypatch.setattr(space_module, "MOST_TRIED", 1000)
    with pytest.raises(
        ParameterError, match=f"^constraints: .*; {re.escape(repr(hopeless))} lets none through by itself"
    ):
        space(WIDE, "P0 > 1", hopeless)


@pytest.mark.parametrize(
    "constraints", [("P11 > 3", "P11 < 3"), ("+".join(WIDE) + " > 108",), ("+".join(WIDE) + " > 107",)]
)
def test_a_combination_is_not_looked_for_without_end(
    monkeypatch: pytest.MonkeyPatch, constraints: tuple[str, ...]
) -> None:
    """One that is there, too, but behind all others."""
    monkeypatch.setattr(space_module, "MOST_TRIED", 1000)
    monkeypatch.setattr(space_module, "MOST_FIRST", 2000)
    with pytest.raises(ParameterError, match=r"^constraints: the first 2,000 levels that were looked at show no comb"):
        space(WIDE, *constraints)


def test_a_constraint_that_lets_a_late_one_through_is_not_blamed() -> None:
    """The last of a million, which all have a level that is asked for beforehand."""
    late = "A + B + C + D + E + F == 54"
    with pytest.raises(ParameterError, match="together they admit no combination") as refused:
        space({name: range(10) for name in "ABCDEF"}, "A + B == 0", late)
    assert "by itself" not in str(refused.value)


def test_the_first_combination_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few = space({"A": [1, 2], "B": [1, 2]}, "A + B > 3")
    monkeypatch.setattr(Space, "_combined", None)
    few.first()["A"] = 7
    assert few.first() == {"A": 2, "B": 2}


def test_a_constraint_that_another_one_guards_is_not_tried_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """``W % TILE`` has no value at TILE = 0, which the first constraint excludes; the first combination comes late."""
    monkeypatch.setattr(space_module, "MOST_TRIED", 20)
    levels = {"TILE": [0, 8, 16], "A": range(10), "B": range(10), "W": [12, 16]}
    found = space(levels, "TILE > 0", "A + B == 18", "W % TILE == 0")
    assert found.first() == {"TILE": 8, "A": 9, "B": 9, "W": 16}
