"""Checks of what stands in the JSON files of papers; each raises ValueError that says what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any, TypeGuard


def keys(what: str, value: Any, expected: Collection[str], optional: Collection[str] = ()) -> None:
    """An object with all the keys ``expected``, and no others but ``optional``."""
    if not isinstance(value, dict) or not set(expected) <= set(value) <= {*expected, *optional}:
        found = sorted(value) if isinstance(value, dict) else value
        raise ValueError(f"{what} must have the keys {sorted(expected)}, not {found}")


def text(what: str, value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} is {value!r}, not a text")
    return value


def texts(what: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list):
        raise ValueError(f"{what} is {value!r}, not a list")
    return tuple(text(what, item) for item in value)


def _is_finite(value: object) -> TypeGuard[float]:
    """Whether it is a number that float64 holds, neither infinite nor NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def finite(what: str, value: object) -> float:
    """A number, neither infinite nor NaN."""
    if not _is_finite(value):
        raise ValueError(f"{what} is {value!r}, not a number")
    return value


def positive(what: str, value: object) -> float:
    """A finite number above 0."""
    if not _is_finite(value) or value <= 0:
        raise ValueError(f"{what} is {value!r}, not a positive number")
    return value


def word(what: str, value: object, words: Collection[str]) -> str:
    """One of ``words``."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{what} is {value!r}, not one of {', '.join(words)}")
    return value
