"""Digits and prefixes of numbers."""

from __future__ import annotations

import pytest

from gpuopt.lab.rows import table


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1996.2, "1996"),
        (12.04, "12.0"),
        (0.5, "0.500"),
        (0.00123, "0.00123"),
        (0, "0"),
        (None, "-"),
        (float("nan"), "-"),
    ],
)
def test_significant_digits(value: float | None, text: str) -> None:
    assert table.significant(value) == text


@pytest.mark.parametrize(
    ("numbers", "digits", "forms"),
    [
        ((1.2041, 1.1979, 1.2114), 4, ("1.204 [1.198, 1.211]", "1.204 ± 0.007", "1.204")),
        ((21.7, 15.0, 35.0), 4, ("22 [15, 35]", "22 [15, 35]", "22")),
        ((0.4, 0.2, 28.0), 3, ("0.4 [0.2, 28]", "0.4 [0.2, 28]", "0.4")),
        ((7.0, 6.1, 18.0), 4, ("7 [6, 18]", "7 [6, 18]", "7")),
        ((7.0, -4.0, 18.0), 4, ("7 [-4, 18]", "7 [-4, 18]", "7")),
        ((7.0, 6.0, 8.1), 4, ("7.0 [6.0, 8.1]", "7.0 ± 1.1", "7.0")),
        ((0.0031, 0.0, 0.5), 3, ("0.003 [0.00, 0.50]", "0.003 [0.00, 0.50]", "0.003")),
        ((float("nan"), 1.0, 2.0), 3, ("-",)),
        ((2.0, float("nan"), 3.0), 3, ("2.00",)),
        ((2.309, 2.2973, 2.3201), 3, ("2.31 [2.30, 2.32]", "2.31 ± 0.01", "2.31")),
        ((1.007, 1.0061, 1.0079), 3, ("1.007 [1.006, 1.008]", "1.007 ± 0.001", "1.007")),
        ((5.0, 5.0, 5.0), 4, ("5.000 [5.000, 5.000]", "5.000 ± 0.000", "5.000")),
        ((5.0, None, None), 4, ("5.00",)),
        ((None, 1.0, 2.0), 4, ("-",)),
    ],
)
def test_an_interval_sets_the_digits(numbers: tuple[float, float, float], digits: int, forms: tuple[str, ...]) -> None:
    assert table.spread(*numbers, digits=digits) == forms


def test_counts_have_prefixes() -> None:
    assert table.byte_count(85_900_000) == "85.9 MB"
    assert table.byte_count(12) == "12 B"
    assert table.quantity(41_600_000, "flop") == "41.6 Mflop"
    assert [table.joined(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("numbers", "limits", "text"),
    [
        ((1.0567, 1.0546, 1.0588), (1.059, 1.0), "1.0567 [1.0546, 1.0588]"),  # below 1.059, not at 1.06
        ((1.08, 1.014, 2.76), (1.0,), "1.08 [1.01, 2.76]"),
        ((1.08, 1.0, 2.76), (1.0,), "1.1 [1.0, 2.8]"),  # at the limit itself
        ((1.5, 1.44, 1.56), (1.0,), "1.50 [1.44, 1.56]"),
        ((1.0, 0.9999999, 1.2), (1.0,), "1.00 [1.00, 1.20]"),  # no digits without an end
    ],
)
def test_an_end_reads_on_its_side_of_what_it_is_held_against(
    numbers: tuple[float, float, float], limits: tuple[float, ...], text: str
) -> None:
    assert table.spread(*numbers, limits=limits)[0] == text
