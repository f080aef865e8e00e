"""Expressions are arithmetic and nothing else."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import ParameterError, lab
from gpuopt.lab.kernels.expressions import Expression, each


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
        ("2 ** n - n**0", 1023),
        ("(1 / 2) ** 3", Fraction(1, 8)),
        ("n in [8, 5 + 5] and n not in (1, 2) and not n in {3}", True),
        (12, 12),
        ("TYPE == TYPE", True),
    ],
)
def test_values(text: str | int, value: object) -> None:
    assert Expression(text, "x").value({"n": 10, "TYPE": "float4"}) == value


def test_numpys_whole_numbers() -> None:
    assert Expression(np.int64(3), "local").text == "3"
    assert [one.text for one in each((np.uint8(32), 4), "local")] == ["32", "4"]
    for wrong in (np.float64(3), np.bool_(True), True, None):
        with pytest.raises(ParameterError, match=r"^local: it is a "):
            Expression(wrong, "local")  # type: ignore[arg-type]


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
        "n ** 64",
        "n ** None",
        "n ** 0.5",
        "n in ['a']",
        "n in 3",
        "[1, 2] in [n]",
        "n in [1, [2]]",
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
        ("TYPE * n != n", "cannot be computed ('float4' is a word; compare it with another)"),
        ("n * TYPE == TYPE + TYPE", "cannot be computed ('float4' is a word"),
        ("max(TYPE, TYPE) == TYPE", "cannot be computed ('float4' is a word"),
        ("not TYPE", "cannot be computed ('float4' is a word"),
        ("n / 3", "is 3.33333 for n=10; it must be a whole number of at least 0"),
        ("n - 11", "is -1 for n=10"),
        ("n > 1", "is True"),
        ("2 ** -n", "an exponent is a whole number from 0 to 63"),
        ("n ** (1 / 2)", "an exponent is a whole number from 0 to 63"),
        ("((n ** 60) ** 60) ** 60", "a power is too large"),
        ("n ** 19", "is too large for n=10"),
    ],
)
def test_what_cannot_be_computed_says_for_which_values(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=r"^shape: ") as caught:
        Expression(text, "shape").whole({"n": 10, "TYPE": "float4"})
    assert says in str(caught.value)


def test_items_are_rounded_up() -> None:
    assert Expression("n / 3", "x").up({"n": 10}) == 4


@pytest.mark.parametrize(
    ("text", "value", "number"),
    [
        ("n", 7, 7),
        ("h + 2", 12, 10),
        ("2 * (h - 1) / 4 + m", 8, 7),
        ("-h + 3 * h", 10, 5),
        ("(m + ceil(m / 2)) * h", 32, 4),
        ("h + 2", 1, None),  # below 0
        ("2 * h", 7, None),  # no whole number
        ("h * h", 9, None),
        ("h // 2", 3, None),  # two numbers have it
        ("max(h, 3)", 5, None),
        ("m / h", 5, None),
        ("h - h", 0, None),
        ("h + k", 5, None),
        ("h / (m - 5)", 5, None),
    ],
)
def test_a_size_that_a_length_tells(text: str, value: int, number: int | None) -> None:
    name = "n" if text == "n" else "h"
    assert Expression(text, "x").solved(name, value, {"m": 5}) == number


@pytest.mark.parametrize(("text", "value"), [("h + 2", 1), ("2 * h", 7), ("h + 2", 2), ("h * h", 9), ("h + k", 5)])
def test_a_length_that_no_size_gives(text: str, value: int) -> None:
    assert Expression(text, "x").contradicts("h", value, {}) == ((text, value) in (("h + 2", 1), ("2 * h", 7)))


class Whole(int):
    """A whole number of another class."""


@pytest.mark.parametrize(
    "known",
    [{"n": given} for given in (None, [1], 1j, np.zeros(2), np.zeros((), "i4,f4")[()], np.timedelta64(1, "s"), b"a")]
    + [[1], {1: 2}, {}, None, "n"],
    ids=str,
)
def test_what_values_are_no_numbers(known: Any) -> None:
    launched, works = lab.launch(items="n", local=1), lab.work(flops="n").flops
    assert works is not None
    with pytest.raises(ParameterError, match=r"^launch\.(items|local): "):
        launched.sizes(known)
    with pytest.raises(ParameterError, match=r"^work\.flops: "):
        works.value(known)


@pytest.mark.parametrize("given", [np.int8(100), np.float32(100), Whole(100), Fraction(100), np.uint64(100)], ids=str)
def test_values_of_other_classes_are_numbers_too(given: Any) -> None:
    assert Expression("n * n / 3", "x").value({"n": given}) == Fraction(10_000, 3)
    assert Expression("n > 1", "x").value({"n": np.bool_(True)}) is False


@pytest.mark.parametrize("part", ["flops", "read", "write"])
def test_work_below_0_is_refused_where_it_is_measured(device: gpuopt.Device, part: str) -> None:
    kernel = own_kernels.scaled(work=lab.work(**{part: "5 * (n - 2) / 2"}))
    for n in (2, 3, 64):
        assert kernel.problem(n=n).flops == (2.5 * (n - 2) if part == "flops" else None)
    wrong = rf"^work\.{part}: '5 \* \(n - 2\) / 2' is -2\.5 for n=1; it must be at least 0$"
    for call in (kernel.problem, kernel.check, partial(lab.search, kernel)):
        with pytest.raises(ParameterError, match=wrong):
            call(n=1)
    assert kernel(x=np.ones(1, np.float32), device=device) == 3  # a call has no use for it
    assert lab.judge(own_kernels.SCALE, kernel, device=device, level="full", n=64).ok  # of one element, too


def test_more_work_items_than_can_be_counted(any_device: gpuopt.Device) -> None:
    """Their number wrapped round to none, and the launch was left out."""
    kernel = own_kernels.scaled(launch=lab.launch(items=(2**32, 2**32), local=(1, 1)))
    with pytest.raises(gpuopt.UnsupportedError, match=r"a launch of 2\^63 work-items or more"):
        kernel(x=np.ones(64, np.float32), device=any_device)
