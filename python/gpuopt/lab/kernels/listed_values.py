"""Lists of levels as text, as tuning tasks of other tools have them: ``[1, 2, 4]``, ``list(range(1, 9))``,
``[2**i for i in range(6)]``. A text is parsed once and read as data; nothing of it is ever run as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.lab.kernels.space import MOST_LEVELS

MOST_CHARACTERS = 100_000
LARGEST = 2**62
MOST_POWER = 64
_OPERATIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_ALLOWED = "use a list such as [1, 2, 4], range(...), list(range(...)), [2**i for i in range(6)], or sums of these"


def levels_in(text: str, place: str) -> list[Any]:
    """The levels that a text lists: numbers, words, True and False. Raises ParameterError, which names the place."""
    if len(text) > MOST_CHARACTERS:
        raise ParameterError(f"{place}: a text of {len(text):,} characters; {_ALLOWED}")
    try:
        return _list(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ParameterError(f"{place}: {text.strip()[:80]!r} is no list of levels ({said}); {_ALLOWED}") from error


def _list(node: ast.AST) -> list[Any]:
    found: list[Any]
    if isinstance(node, (ast.List, ast.Tuple)):
        found = [_scalar(one, {}) for one in node.elts[: MOST_LEVELS + 1]]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        found = _called(node.func.id, node.args)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        found = [*_list(node.left), *_list(node.right)]
    elif isinstance(node, ast.ListComp) and len(node.generators) == 1:
        loop = node.generators[0]
        if not isinstance(loop.target, ast.Name) or loop.ifs or loop.is_async:
            raise ValueError("of comprehensions, only [... for i in ...] is allowed")
        found = [_scalar(node.elt, {loop.target.id: value}) for value in _list(loop.iter)]
    else:
        raise ValueError(f"{type(node).__name__} is not allowed")
    if len(found) > MOST_LEVELS:
        raise ValueError(f"it has more than {MOST_LEVELS:,} levels")
    return found


def _called(name: str, arguments: list[ast.expr]) -> list[Any]:
    if name == "list" and len(arguments) == 1:
        return _list(arguments[0])
    if name != "range":
        raise ValueError(f"{name} is not allowed")
    counted = range(*(_scalar(one, {}) for one in arguments))
    return list(counted[: MOST_LEVELS + 1])


def _scalar(node: ast.AST, known: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        found = node.value
    elif isinstance(node, ast.Name):
        if node.id not in known:
            raise ValueError(f"{node.id} is unknown")
        found = known[node.id]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = -_number(node.operand, known)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _number(node.left, known), _number(node.right, known)
        if isinstance(node.op, ast.Pow) and not 0 <= right <= MOST_POWER:
            raise ValueError(f"an exponent is not between 0 and {MOST_POWER}")
        found = _OPERATIONS[type(node.op)](left, right)
    else:
        raise ValueError(f"{type(node).__name__} is not allowed")
    if isinstance(found, (int, float)) and not abs(found) < LARGEST:
        raise ValueError("a number is too large")
    return found


def _number(node: ast.AST, known: dict[str, Any]) -> Any:
    found = _scalar(node, known)
    if isinstance(found, str):
        raise ValueError(f"{found[:40]!r} is no number")
    return found
