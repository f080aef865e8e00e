"""What annotations allow: for each a test of values, and words for messages."""

from __future__ import annotations

import collections.abc
import itertools
import math
import os
import types
import typing
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gpuopt._core import DeviceArray
from gpuopt.signals import let_through

Test = Callable[[Any], bool]

LARGEST = 2**63  # whole numbers lie below it: sizes, seeds and indices are 64 bits wide
ELEMENTS = 1000  # of an array or a range, which are of one type, that are looked at
NUMERIC, REAL = "biufc", "biuf"  # kinds of dtypes that are numbers


# Types of the lab that a name of a workload or of a kernel is often given for.
_MADE_BY = {
    "Kernel": "a lab.Kernel, which you define; lab.tune searches the variants of a workload",
    "Problem": "a Problem, e.g. problems.gemm(512), or kernel.problem(n=1024) of a lab.Kernel",
}


def plain(hint: Any) -> Any:
    """An annotation without the ``type`` statement's aliases: NumPy's NDArray is one since 2.5."""
    if hint is ArrayLike or hint is DTypeLike:
        return hint
    inner = typing.get_args(hint)
    value = getattr(typing.get_origin(hint) if inner else hint, "__value__", None)
    if value is None:
        return hint
    return plain(value[inner] if inner else value)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """What a union is of; of another annotation itself."""
    hint = plain(hint)
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def words(hint: Any) -> str:
    """What an annotation allows, as a message says it: ``a number or None``."""
    hint = plain(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and hint not in (ArrayLike, DTypeLike):
        parts = list(dict.fromkeys(words(one) for one in typing.get_args(hint)))
        return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    known = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", type(None): "None"}
    if hint in (ArrayLike, np.ndarray):
        return "an array"
    if hint is DTypeLike:
        return "a dtype of numbers, e.g. np.float32"
    if isinstance(hint, typing.Hashable) and hint in known:
        return known[hint]
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    if origin is tuple and typing.get_args(hint)[-1:] != (...,):
        return f"({', '.join(words(one) for one in typing.get_args(hint))})"
    if origin in (collections.abc.Sequence, collections.abc.Iterable, list) and typing.get_args(hint):
        of = typing.get_args(hint)[0]
        return "a list" if of is Any else f"a list of {words(of).removeprefix('a ')}"
    if origin is collections.abc.Callable:
        return "a function"
    if isinstance(hint, TypeVar):
        return " or ".join(words(one) for one in hint.__constraints__) or "an object"
    name = getattr(origin or hint, "__name__", None) or str(hint)
    return _MADE_BY.get(name, f"an {name}" if name[0] in "AEIOU" else f"a {name}")


def is_of_arrays(hint: Any) -> bool:
    """Whether an annotation is of arrays."""
    hint = plain(hint)
    if isinstance(hint, TypeVar):
        return any(map(is_of_arrays, hint.__constraints__))
    if hint is ArrayLike or np.ndarray in (hint, typing.get_origin(hint)) or hint is DeviceArray:
        return True
    unions = (typing.Union, types.UnionType)
    return hint is not DTypeLike and typing.get_origin(hint) in unions and any(map(is_of_arrays, typing.get_args(hint)))


# ---------------------------------------------------------------- a test for each annotation


def test_of(hint: Any) -> Test:
    """A function that says whether a value is what an annotation allows."""
    test = _test_of(hint)
    return lambda value: (type(value) is np.ndarray or not is_masked(value)) and test(value)


def _test_of(hint: Any) -> Test:
    hint = plain(hint)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is ArrayLike:
        return _array_like
    if hint is DTypeLike or np.dtype in (hint, origin):
        return _dtype
    if origin in (typing.Union, types.UnionType):
        return _union(inner)
    if hint in (bool, int, float, str, None, type(None)):
        return _PLAIN[hint]
    if isinstance(hint, TypeVar):
        return _union(hint.__constraints__) if hint.__constraints__ else _anything
    if origin is typing.Literal:
        return lambda value: isinstance(value, str | int | None) and value in inner
    if typing.is_typeddict(hint):
        return lambda value: isinstance(value, collections.abc.Mapping)
    if np.ndarray in (hint, origin):
        return _numbers
    if isinstance(origin, type):
        return _container(origin, inner)
    if hint in (Any, object) or not isinstance(hint, type):
        return _anything
    if getattr(hint, "_is_protocol", False):
        wanted = [name for name in vars(hint) if not name.startswith("_")]
        return lambda value: not isinstance(value, type) and all(hasattr(value, name) for name in wanted)
    return _folder if issubclass(hint, os.PathLike) else lambda value: isinstance(value, hint)


def _union(hints: tuple[Any, ...]) -> Test:
    if any(np.dtype in (hint, typing.get_origin(hint)) for hint in hints):  # a text is a dtype's name there
        return _dtype
    tests = [_test_of(hint) for hint in hints]
    if _folder in tests:  # a text is a path there
        tests = [_path if test in (is_text, _folder) else test for test in tests]

    def one_of(value: Any) -> bool:
        for test in tests:  # noqa: SIM110  # any() of a generator takes thrice the time
            if test(value):
                return True
        return False

    return one_of


def _container(origin: Any, inner: tuple[Any, ...]) -> Test:
    abc = collections.abc
    if issubclass(origin, os.PathLike):
        return _folder
    if origin is abc.Callable:
        return callable
    if issubclass(origin, abc.Mapping):
        key, test = map(_test_of, inner)
        return lambda value: isinstance(value, abc.Mapping) and all(key(k) and test(v) for k, v in value.items())
    if issubclass(origin, tuple):
        if inner[-1:] == (...,):
            return _elements(abc.Sequence, inner[0])
        each = [_test_of(one) for one in inner]
        return lambda value: (
            isinstance(value, tuple | list)
            and len(value) == len(each)
            and all(test(one) for test, one in zip(each, value, strict=True))
        )
    if origin in (abc.Sequence, abc.Iterable, list):
        return _elements(origin, inner[0])
    return lambda value: isinstance(value, origin)


def _elements(origin: type, inner: Any) -> Test:
    test, abc = _test_of(inner), collections.abc

    def holds(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return inner in (int, float, Any) and value.ndim > 0 and all(test(one) for one in value[:ELEMENTS].tolist())
        if isinstance(value, str | bytes | bytearray | memoryview | abc.Mapping) or not isinstance(value, origin):
            return False
        if not isinstance(value, abc.Sequence):
            return True
        return all(map(test, value if isinstance(value, list | tuple) else itertools.islice(value, ELEMENTS)))

    return holds


def _anything(value: Any) -> bool:
    return not is_masked(value)


def is_masked(value: Any, deepest: int = 8) -> bool:
    """Whether its mask would be ignored, or that of an array in a list."""
    if type(value) is np.ndarray:
        return False
    if isinstance(value, tuple | list):
        return deepest > 0 and any(is_masked(one, deepest - 1) for one in value[:ELEMENTS])
    return issubclass(type(value), np.ma.MaskedArray)  # not isinstance: an object's own __class__ may raise anything


def _flag(value: Any) -> bool:
    return value is True or value is False or isinstance(value, np.bool_)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number of 64 bits, and no flag."""
    return is_integral(value) and -LARGEST <= int(value) < LARGEST


def is_seed(value: Any) -> bool:
    """Whether NumPy's generators take it."""
    return is_whole(value) and value >= 0


def is_integral(value: Any) -> bool:
    """Whether it is a whole number of any size, and no flag and no time, which NumPy counts among them."""
    return isinstance(value, Integral) and value is not True and value is not False and not _is_time(value)


def _is_time(value: Any) -> bool:
    return isinstance(value, np.timedelta64)


def is_real(value: Any) -> bool:
    """Whether it is a real number of any size, and no flag and no time."""
    return not isinstance(value, bool | np.bool_) and isinstance(value, Real) and not _is_time(value)


def is_number(value: Any) -> bool:
    """Whether it is a real number that float64 holds, NaN and infinity included, and no flag."""
    if type(value) is float:
        return True
    if not is_real(value):
        return False
    try:
        return math.isfinite(float(value)) or not np.isfinite(
            typing.cast(Any, value)
        )  # as wide as fp64, or infinite itself
    except OverflowError:
        return False


def is_text(value: Any) -> bool:
    """Whether it is a text that UTF-8 can write."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


def _folder(value: Any) -> bool:
    return isinstance(value, os.PathLike) and _path(value)


def is_path_of_bytes(value: Any) -> bool:
    """Whether it is an object whose path is bytes, such as the entries of os.scandir(b"."), and no bytes itself."""
    try:
        return isinstance(value, os.PathLike) and isinstance(os.fspath(value), bytes)
    except Exception as error:  # an object's own __fspath__ may raise anything
        let_through(error)
        return False


def _path(value: Any) -> bool:
    if not isinstance(value, str | os.PathLike) or is_path_of_bytes(value):
        return False
    try:
        return b"\0" not in os.fsencode(value)
    except Exception as error:  # an object's own __fspath__ may raise anything
        let_through(error)
        return False


def _numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in NUMERIC


def _array_like(value: Any) -> bool:
    if not isinstance(value, np.ndarray | Real | list | tuple):
        return False
    try:
        return np.asarray(value).dtype.kind in NUMERIC
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _dtype(value: Any) -> bool:
    if value is None or not isinstance(value, str | type | np.dtype):
        return False
    try:
        return np.dtype(value).kind in NUMERIC
    except (TypeError, ValueError):
        return False


_PLAIN: dict[Any, Test] = {
    bool: _flag,
    int: is_whole,
    float: is_number,
    str: is_text,
    None: lambda value: value is None,
    type(None): lambda value: value is None,
}


# ---------------------------------------------------------------- objects that raise where they are looked at


def raised_by(value: Any, error: BaseException, deepest: int = 2) -> str | None:
    """The special method or the property of ``value``, or of what it lists, out of which ``error`` came; None where it
    came from elsewhere, such as a function that the caller gave."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_argcount and trace.tb_frame.f_locals.get(code.co_varnames[0], trace) is value:
            own = next((vars(kind)[code.co_name] for kind in type(value).__mro__ if code.co_name in vars(kind)), None)
            special = code.co_name.startswith("__") and code.co_name != "__call__"
            if (special or isinstance(own, property)) and not type(value).__module__.startswith("gpuopt."):
                return code.co_name
        trace = trace.tb_next
    if deepest and type(value) in (list, tuple, dict):
        inside = value.values() if type(value) is dict else value[:ELEMENTS]
        return next((found for one in inside if (found := raised_by(one, error, deepest - 1)) is not None), None)
    return None
