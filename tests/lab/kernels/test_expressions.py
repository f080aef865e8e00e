"""Expressions are arithmetic and nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gpuopt import ParameterError
from gpuopt.lab.kernels.expressions import Expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n / 3", Fraction(10, 3)),
        ("ceil(n / 3)", 4),
        ("n // 3 + n % 3", 4),
        ("-n + 2 * (n - 1)", 8),
        ("min(n, 7) + max(1, 2, 3)", 10),
        ("1 < n <= 10 and not n == 9", True),
        ("n == 9 or n != 10", False),
        ("0.5 * n", 5),
        (12, 12),
        ("TYPE == TYPE", True),
    ],
)
def test_values(text: str | int, value: object) -> None:
    assert Expression(text, "x").value({"n": 10, "TYPE": "float4"}) == value


def test_names() -> None:
    assert Expression("ceil(n / WIDTH) * min(h, 3)", "x").names == {"n", "WIDTH", "h"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "__import__('os')",
        "n.real",
        "[n]",
        "n if n else 1",
        "lambda: 1",
        "n ** 9",
        "'text'",
        "f(n)",
        "min()",
        "min(n, key=n)",
        "(" * 60 + "n" + ")" * 60 + "!",
        "n; n",
        "n := 1",
        "1e400",
        "9" * 30,
        "-" * 200 + "n",
        "n + " * 500 + "n",
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"^launch\.items: "):
        Expression(text, "launch.items")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m", "has an unknown 'm'; known: TYPE, n"),
        ("n / (n - 10)", "divides by 0 for n=10"),
        ("n * n * 99999999999999999", "is too large for n=10"),
        ("TYPE * TYPE", "cannot be computed"),
        ("n / 3", "is 3.33333 for n=10; it must be a whole number of at least 0"),
        ("n - 11", "is -1 for n=10"),
        ("n > 1", "is True"),
    ],
)
def test_what_cannot_be_computed_says_for_which_values(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=r"^shape: ") as caught:
        Expression(text, "shape").whole({"n": 10, "TYPE": "float4"})
    assert says in str(caught.value)


def test_items_are_rounded_up() -> None:
    assert Expression("n / 3", "x").up({"n": 10}) == 4
