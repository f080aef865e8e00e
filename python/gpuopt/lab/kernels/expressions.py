"""Arithmetic as text, such as ``"n / WIDTH"``: what a declaration says of sizes, launches, constraints and work.

A text is parsed once into a tree of known operations; nothing of it is ever run as Python. So it can be hashed, stored
and sent to another process."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, cast

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.annotations import is_integral

Number = int | Fraction | bool
MOST_CHARACTERS = 1000
MOST_DEEP = 40
MOST_POWER, MOST_BITS = 63, 512  # an exponent, and the bits of a power
LARGEST = 2**63  # sizes are 64-bit numbers
FRACTION = r"(-?\d{1,18}\.\d{1,18})[fh]?"  # a level that is no whole number, as a macro may stand for it
_FRACTION = re.compile(FRACTION, re.ASCII)


def _power(base: Number, exponent: Number) -> Number:
    """Of whole exponents, so that powers stay exact; as large as can be, so that none takes long."""
    if isinstance(exponent, bool) or exponent != int(exponent) or not 0 <= exponent <= MOST_POWER:
        raise ValueError(f"an exponent is a whole number from 0 to {MOST_POWER}")
    exact = Fraction(base)
    if int(exponent) * max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS:
        raise ValueError("a power is too large")
    return cast("Number", exact ** int(exponent))


_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: Fraction(a) / Fraction(b),
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, listed: a in listed,
    ast.NotIn: lambda a, listed: a not in listed,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil}
_ALLOWED = "use names, numbers, + - * / // % **, comparisons, in [...], and, or, not, min, max, ceil"


class Expression:
    """A text with the names in it; ``/`` divides exactly, so that ``ceil(n / 3)`` is what it says.

    Raises ParameterError, which begins with ``what``, for a text that is no such expression.
    """

    __slots__ = ("_tree", "names", "text", "what")

    def __init__(self, text: str | int, what: str) -> None:
        text = int(text) if is_integral(text) else text  # NumPy's too
        if isinstance(text, bool) or not isinstance(text, (str, int)):
            raise ParameterError(f"{what}: it is a {type(text).__name__}; give an expression such as 'n / WIDTH'")
        self.text, self.what = str(text).strip(), what
        if len(self.text) > MOST_CHARACTERS:
            raise ParameterError(f"{what}: an expression of {len(self.text)} characters; write it shorter")
        try:
            self._tree = ast.parse(self.text, mode="eval").body
            self.names: frozenset[str] = frozenset(_names(self._tree, 0))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ParameterError(f"{what}: {self.text!r} is no expression ({_said(error)}); {_ALLOWED}") from error

    def value(self, known: Mapping[str, Any]) -> Number:
        """What it is for these values, numbers by name. Raises ParameterError that lists the known names, or names a
        division by 0 or a value that is no number."""
        if not isinstance(known, Mapping):
            raise ParameterError(
                f"{self.what}: the values are a {type(known).__name__}; give numbers by name in a dict"
            )
        try:
            found = _value(self._tree, known)
        except KeyError as error:
            listed = ", ".join(sorted(map(str, known))) or "none"
            raise ParameterError(
                f"{self.what}: {self.text!r} has an unknown {error.args[0]!r}; known: {listed}"
            ) from error
        except ZeroDivisionError as error:
            raise ParameterError(f"{self.what}: {self.text!r} divides by 0 for {_shown(known, self.names)}") from error
        except (TypeError, ValueError) as error:
            raise ParameterError(f"{self.what}: {self.text!r} cannot be computed ({error}); {_ALLOWED}") from error
        if isinstance(found, str):
            raise ParameterError(f"{self.what}: {self.text!r} is the word {found!r}; compare it with another")
        if abs(found) >= LARGEST:
            raise ParameterError(f"{self.what}: {self.text!r} is too large for {_shown(known, self.names)}")
        return cast("Number", found)

    def whole(self, known: Mapping[str, Any], least: int = 0) -> int:
        """The same as a whole number of at least ``least``; a fraction raises ParameterError too."""
        found = self.value(known)
        if isinstance(found, bool) or found != int(found) or found < least:
            shown = f"{float(found):g}" if not isinstance(found, bool) else str(found)
            raise ParameterError(
                f"{self.what}: {self.text!r} is {shown} for {_shown(known, self.names)}; it must be a whole number of "
                f"at least {least}"
            )
        return int(found)

    def up(self, known: Mapping[str, Any]) -> int:
        """The same rounded up: of work-items there are never too few. Raises ParameterError below 0."""
        found = math.ceil(self.value(known))
        if found < 0:
            raise ParameterError(f"{self.what}: {self.text!r} is {found} for {_shown(known, self.names)}")
        return found

    def amount(self, known: Mapping[str, Any]) -> float:
        """The same, a fraction too. Raises ParameterError below 0."""
        found = float(self.value(known))
        if found < 0:
            shown = f"{self.text!r} is {found:g} for {_shown(known, self.names)}"
            raise ParameterError(f"{self.what}: {shown}; it must be at least 0")
        return found

    def solved(self, name: str, value: int, known: Mapping[str, Any]) -> int | None:
        """The whole number of at least 0 that a name must be for this value, such as n = 6 of ``2 * n + 1`` and 13;
        None where there is none, where the expression is not linear in it, or where it holds other unknown names."""
        number = self._root(name, value, known)
        return int(number) if number is not None and number.denominator == 1 and number >= 0 else None

    def contradicts(self, name: str, value: int, known: Mapping[str, Any]) -> bool:
        """Whether it is linear in the name, and no whole number of at least 0 gives this value: ``n + 2`` and 1."""
        return self._root(name, value, known) is not None and self.solved(name, value, known) is None

    def _root(self, name: str, value: int, known: Mapping[str, Any]) -> Fraction | None:
        try:
            found = _linear(self._tree, name, known)
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return None
        return (value - found[1]) / found[0] if found is not None and found[0] else None

    def at(self, known: Mapping[str, Any]) -> str:
        """Its names with their values: `n=100, WIDTH=4`."""
        return _shown(known, self.names)

    def holds(self, known: Mapping[str, Any]) -> bool:
        """Whether it is true (not 0)."""
        return bool(self.value(known))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def each(given: Any, what: str) -> tuple[Expression, ...]:
    """One expression, or a sequence of them, as a tuple."""
    listed = given if isinstance(given, (tuple, list)) else (given,)
    return tuple(Expression(one, what) for one in listed)


def _names(node: ast.AST, depth: int) -> set[str]:
    if depth > MOST_DEEP:
        raise ValueError("it is nested too deeply")
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        if not abs(node.value) < LARGEST:
            raise ValueError("a number is too large")
        return set()
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        names = _names(node.left, depth + 1) | _names(node.right, depth + 1)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
            _power(1, cast("Number", node.right.value))  # what is no exponent is seen before there are values
        return names
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _names(node.operand, depth + 1)
    if isinstance(node, ast.BoolOp):
        return set().union(*(_names(value, depth + 1) for value in node.values))
    if isinstance(node, ast.Compare) and all(type(op) in _OPERATIONS for op in node.ops):
        right = zip(node.ops, node.comparators, strict=True)
        parts = [part for op, value in right for part in _listed(op, value)]
        return set().union(*(_names(value, depth + 1) for value in (node.left, *parts)))
    known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
    if known and isinstance(node, ast.Call) and node.args and not node.keywords:
        return set().union(*(_names(value, depth + 1) for value in node.args))
    raise ValueError(f"{type(node).__name__} is not allowed")


def _listed(op: ast.cmpop, value: ast.expr) -> list[ast.expr]:
    """What stands on the right of a comparison: of `in` the elements of a list, else the value itself."""
    if not isinstance(op, (ast.In, ast.NotIn)):
        return [value]
    if not isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        raise ValueError("after in stands a list, such as [16, 32]")
    return value.elts


def _value(node: ast.AST, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return _number(known[node.id])
    if isinstance(node, ast.Constant):
        return _number(node.value)
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_no_word(node.left, known), _no_word(node.right, known))
    if isinstance(node, ast.UnaryOp):
        return _OPERATIONS[type(node.op)](_no_word(node.operand, known))
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            found = _value(value, known)
            if bool(found) == isinstance(node.op, ast.Or):
                return found
        return found
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [_value(one, known) for one in node.elts]
    if isinstance(node, ast.Compare):
        values = [_value(value, known) for value in (node.left, *node.comparators)]
        return all(_OPERATIONS[type(op)](a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return _FUNCTIONS[node.func.id](*(_no_word(value, known) for value in node.args))


def _no_word(node: ast.AST, known: Mapping[str, Any]) -> Any:
    """What can be computed with. Raises TypeError for a word, which Python would repeat or put behind another."""
    found = _value(node, known)
    if isinstance(found, str):
        raise TypeError(f"{found!r} is a word; compare it with another")
    return found


def _linear(node: ast.AST, name: str, known: Mapping[str, Any]) -> tuple[Fraction, Fraction] | None:
    """How many times the name, and what is added; None where it is not so."""
    if name not in _names(node, 0):
        return Fraction(0), Fraction(_value(node, known))
    if isinstance(node, ast.Name):
        return Fraction(1), Fraction(0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _linear(node.operand, name, known)
        sign = -1 if isinstance(node.op, ast.USub) else 1
        return inner and (sign * inner[0], sign * inner[1])
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _linear(node.left, name, known), _linear(node.right, name, known)
    if left is None or right is None:
        return None
    if isinstance(node.op, (ast.Add, ast.Sub)):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return left[0] + sign * right[0], left[1] + sign * right[1]
    if isinstance(node.op, ast.Mult) and not (left[0] and right[0]):
        (times, rest), factor = (left, right[1]) if left[0] else (right, left[1])
        return times * factor, rest * factor
    if isinstance(node.op, ast.Div) and not right[0]:
        return left[0] / right[1], left[1] / right[1]
    return None


def _number(given: Any) -> Any:
    """Fractions stay exact, also those of a level, such as 0.5f; one that is a word is compared as it is. Raises
    TypeError for what is no number, and ValueError for one that is not finite."""
    if isinstance(given, str):
        written = _FRACTION.fullmatch(given)
        return Fraction(written[1]) if written else given
    if isinstance(given, (int, Fraction)):
        return given
    if isinstance(given, np.bool_):
        return bool(given)
    if is_integral(given):  # NumPy's, whose products would overflow
        return int(given)
    if isinstance(given, (float, np.floating)):
        return Fraction(str(given))
    raise TypeError(f"{str(given)[:80]} of type {type(given).__name__} is no number")


def _shown(known: Mapping[str, Any], names: frozenset[str]) -> str:
    return ", ".join(f"{name}={known[name]}" for name in sorted(names) if name in known) or "no names"


def _said(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
