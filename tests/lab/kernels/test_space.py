"""Levels and constraints of a kernel."""

from __future__ import annotations

import itertools

import pytest

from gpuopt import ParameterError
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


def test_no_parameters_are_one_combination() -> None:
    assert list(space({})) == [{}]


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


def test_a_constraint_that_admits_nothing_is_named() -> None:
    with pytest.raises(ParameterError, match=r"'A > 9' lets none through by itself"):
        space({"A": [1, 2], "B": [1, 2]}, "B > 1", "A > 9")
    with pytest.raises(ParameterError, match="not together"):
        space({"A": [1, 2]}, "A > 1", "A < 2")
