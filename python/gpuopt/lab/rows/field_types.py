"""Whether the values of a row are of their fields' types, and what these types are called in a message."""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin

_MOST = sys.float_info.max
_PLAIN: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), str: (str,), bool: (bool,)}
_NUMBERS = (int, float)
_CALLED = {int: "whole number", float: "finite number", str: "text"}


def fits(hint: Any) -> Callable[[Any], bool]:
    """A test of whether a value in JSON's types is of a field's type. What a mapping of facts holds is not looked into,
    nor whether a word is a known one: other versions may know others."""
    if hint in _PLAIN:
        return _is_of(_PLAIN[hint])
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return fits(str)
    if origin is collections.abc.Mapping:
        inner = fits(parts[1] | float)  # numbers of any kind
        return lambda value: type(value) is dict and all(map(inner, value.values()))
    if origin in (list, collections.abc.Sequence):
        element = fits(parts[0])
        return lambda value: type(value) is list and all(map(element, value))
    if parts:  # a union
        return _fits_one([part for part in parts if part is not type(None)])
    return lambda value: type(value) is dict  # a TypedDict


def _is_of(allowed: tuple[type, ...]) -> Callable[[Any], bool]:
    if float not in allowed and int not in allowed:
        return lambda value: type(value) in allowed
    return lambda value: type(value) in allowed and (type(value) not in _NUMBERS or -_MOST <= value <= _MOST)


def _fits_one(hints: list[Any]) -> Callable[[Any], bool]:
    """A test of whether a value is of one of these types."""
    if all(hint in _PLAIN for hint in hints):
        return _is_of(tuple({each for hint in hints for each in _PLAIN[hint]}))
    tests = [fits(hint) for hint in hints]
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def called(hint: Any) -> str:
    """What a field of this type holds, in words: ``a list of finite numbers``."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(called(part) for part in parts if part is not type(None))
    if origin in (list, collections.abc.Sequence):
        return f"a list of {_CALLED.get(parts[0], 'text')}s"
    if origin is collections.abc.Mapping:
        return f"a mapping to finite numbers{' or texts' if str in get_args(parts[1]) else ''}"
    if origin is Literal:
        return f"one of {', '.join(parts)}"
    if hint in _CALLED:
        return f"a {_CALLED[hint]}"
    return "True or False" if hint is bool else "a mapping"
