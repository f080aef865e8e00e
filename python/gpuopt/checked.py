"""Arguments of what users call, held against the annotations before anything else looks at them.

``@checked`` refuses what an annotation does not allow with an error that names the argument: ParameterError or, where
an array was due, ArrayError, of a class that is a TypeError too. NumPy's scalars become Python's numbers. Ranges,
shapes and dtypes are for the function itself. Masked arrays are refused everywhere: no kernel looks at a mask. Where
the host's memory does not suffice, HostMemoryError says so.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError, DeviceArray, Error, ParameterError, UnsupportedError, drop_kept_on_host
from gpuopt.annotations import (
    LARGEST,
    NUMERIC,
    REAL,
    alternatives,
    is_integral,
    is_masked,
    is_number,
    is_of_arrays,
    is_path_of_bytes,
    is_real,
    is_seed,
    is_text,
    raised_by,
    test_of,
    words,
)
from gpuopt.other_names import meant
from gpuopt.signals import let_through, of_signal
from gpuopt.tracing import TRACING, clock, note

EXACT = 2**53  # integers below it are floats
MOST_NUMBERS = 10_000  # of an iterable that has no length
Target = TypeVar("Target", bound=Callable[..., Any])
Check = Callable[[Any], Any]

# Special methods whose arguments are a user's too.
CALLED = ("__init__", "__call__", "__matmul__", "__mul__", "__rmatmul__", "__rmul__", "__truediv__", "__add__")


class ParameterTypeError(ParameterError, TypeError):
    """A parameter is of a wrong type."""


class HostMemoryError(Error, MemoryError):
    """The host cannot hold this."""


class ArrayTypeError(ArrayError, TypeError):
    """What should be an array is none."""


class ArrayIndexError(ArrayError, IndexError):
    """An array has no such row."""


def unsupported(message: str, because: Literal["device", "constraint"] = "constraint") -> UnsupportedError:
    """An UnsupportedError to raise, which says ``because`` of what: the device, or a rule that it breaks."""
    error = UnsupportedError(message)
    error.because = because
    return error


def checked(target: Target) -> Target:
    """A function whose arguments are checked; of a class, its constructor and its public methods."""
    if isinstance(target, type):
        return _class(target, CALLED)
    return typing.cast(Target, _function(target))


def methods_checked(target: Target) -> Target:
    """A class whose public methods are checked, but not its constructor, which takes more than its fields hold."""
    return _class(target, ())


def unmasked(name: str, given: Any) -> Any:
    """``given``. Raises ArrayError for a masked array."""
    if is_masked(given):
        raise _refusal(name, given, np.ndarray)
    return given


class reading:
    """Where an array is made of what a caller gave: its own methods may raise anything, which becomes an ArrayError
    that says that it cannot be read as ``what``. What a signal's handler raises stays as it is."""

    def __init__(self, name: str, what: str, cure: str) -> None:
        self.told = name, what, cure

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, Error) or of_signal(error) is not None:
            return
        name, what, cure = self.told
        if isinstance(error, MemoryError):
            drop_kept_on_host()  # the next call may find room
            text = f"{name}: the host's memory does not hold it ({error}); give a smaller size"
            raise HostMemoryError(text) from error
        raise ArrayError(f"{name}: it cannot be read as {what} ({error}); {cure}") from error


def as_array(name: str, given: Any, what: str) -> np.ndarray:
    """``given`` as an array of any dtype. Raises ArrayError where NumPy makes none of it, and for a masked array."""
    with reading(name, "an array", f"give {what}"):
        return np.asarray(unmasked(name, given))


def real(name: str, given: Any, what: str) -> np.ndarray:
    """``given`` as an array of float64, a new one where it is none. Raises ArrayError for anything but real numbers,
    and for numbers that float64 cannot hold."""
    with reading(name, "real numbers", f"give {what}"):
        array = np.asarray(unmasked(name, given))
        if array.dtype.kind not in NUMERIC and array.dtype.kind == "O":
            array = np.asarray(given, dtype=np.float64)  # lists of numbers of several kinds
        if array.dtype.kind in REAL:
            return array.astype(np.float64, copy=False)
    raise ArrayTypeError(f"{name}: it cannot be read as real numbers (dtype {array.dtype}); give {what}")


def whole_number(name: str, given: Any, least: int, most: int) -> int:
    """``given`` as an int from ``least`` to ``most``. Raises ParameterError."""
    if not is_integral(given):
        raise ParameterTypeError(f"{name}: it is {_shown(given)}; give a whole number")
    if not least <= int(given) <= most:
        raise ParameterError(f"{name}: {int(given)} is out of range; give {least} to {most}")
    return int(given)


def real_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """float32 or float64 of the machine's byte order. Raises ParameterError for another."""
    kind = np.dtype(dtype)
    if kind.name not in ("float32", "float64"):
        raise ParameterError(f"dtype: {kind.name} is not offered; use float32 or float64")
    if not kind.isnative:
        raise ParameterError(f"dtype: the byte order of {kind.str} is not the machine's; use {kind.name}")
    return kind


def _class(target: Target, special: Collection[str]) -> Target:
    for name, member in list(vars(target).items()):
        if name.startswith("_") and name not in special:
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(target, name, type(member)(_function(member.__func__)))
        elif isinstance(member, types.FunctionType) and not getattr(member, "__isabstractmethod__", False):
            setattr(target, name, _function(member))
    return target


# Where calls take some ten microseconds, and NumPy computes nothing.
_QUICK = {f"gpuopt.{name}" for name in ("arrays", "selection", "workloads.gemm.operation", "workloads.spmv.operation")}
_QUICK |= {f"gpuopt.workloads.{name}" for name in ("spmv.matrix", "tmv.operation")}
_EXTRAS = dict.fromkeys(("scipy", "pandas", "matplotlib"), "lab")


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(function).parameters.values())
    first = [one.name for one in parameters if one.kind <= one.POSITIONAL_OR_KEYWORD]
    named = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    rest = next((one.name for one in parameters if one.kind is one.VAR_POSITIONAL), None)
    quick = function.__module__ in _QUICK
    checks: dict[str, Check] | None = None
    in_order: list[Check] = []

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        nonlocal checks, in_order
        begin = clock() if TRACING else 0
        if checks is None:  # annotations are read at the first call: they may name what is defined further below
            made = {one.name: _check(function, one) for one in parameters}
            in_order, checks = [made[name] for name in first], made
        asked = keywords
        try:
            given = [check(value) for check, value in zip(in_order, args)]  # noqa: B905  # more: for *rest, or an error
            if len(args) > len(given):
                given += [checks[rest](value) if rest else value for value in args[len(given) :]]
            if keywords:  # one of another name, or of one that goes by its place alone, is for **rest
                asked = {name: checks[name](value) if name in named else value for name, value in keywords.items()}
            if quick:
                return function(*given, **asked)
            with np.errstate(under="ignore"):  # NumPy's own default, on which formulas rely
                return function(*given, **asked)
        except Exception as error:
            let_through(error)
            if isinstance(error, Error):
                raise
            told = _told(function, args, keywords, error)
            if told is None:
                raise
            raise told from error
        finally:
            if begin:
                note(function.__qualname__, begin)

    return call


def _told(
    function: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any], error: Exception
) -> Exception | None:
    """What to raise for an error that is none of gpuopt's; None where it stays as it is: that of a function of the
    caller's, and a bug."""
    if isinstance(error, TypeError) and (misfit := _misfit(function, args, keywords)) is not None:
        return misfit
    if isinstance(error, ImportError) and (extra := _EXTRAS.get(str(error.name).partition(".")[0])) is not None:
        return Error(f"{function.__name__} needs {error.name}, which is not installed: pip install 'gpuopt[{extra}]'")
    if isinstance(error, ValueError) and str(error).startswith("Key backend:"):  # as matplotlib is imported
        return Error(f"MPLBACKEND: {error}; unset it")
    if isinstance(error, MemoryError):
        return HostMemoryError(f"the host's memory does not hold this ({error}); give a smaller size")
    parameters = list(inspect.signature(function).parameters.values())
    named = {one.name: one for one in parameters}
    by_place = [(parameters[min(place, len(parameters) - 1)], value) for place, value in enumerate(args)]
    by_name = [(named.get(name, parameters[-1]), value) for name, value in keywords.items()]
    for one, value in [*by_place, *by_name]:
        if (method := raised_by(value, error)) is not None:
            hint = _hint(function, one)
            kind = ArrayTypeError if is_of_arrays(hint) else ParameterTypeError
            return kind(f"{one.name}: its own {method} raised {type(error).__name__}; give {words(hint)}")
    return None


def _misfit(function: Callable[..., Any], given: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
    """What says which argument a call lacks, or has too much; None where its names and their number fit."""
    signature = inspect.signature(function)
    try:
        signature.bind(*given, **keywords)
        return None
    except TypeError:
        known = [one for one in signature.parameters.values() if one.name != "self"]
    if "self" in signature.parameters and not given:  # a method that is called by its class
        return None
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    open_ended = any(one.kind is one.VAR_KEYWORD for one in known)
    strange = [one for one in keywords if one not in signature.parameters]
    hint = meant if function.__module__.startswith("gpuopt.lab.") else _no_hint
    by_place = [one for one in signature.parameters.values() if one.kind <= one.POSITIONAL_OR_KEYWORD]
    if len(given) > len(by_place) and all(one.kind is not one.VAR_POSITIONAL for one in known):
        most, taken = len(by_place) - (len(known) < len(signature.parameters)), ", ".join(one.name for one in known)
        more = len(given) - len(by_place)
        told = f"; it takes {taken}" if taken else ""
        if open_ended:
            told = "; give them by name, such as x=x"
        return ParameterTypeError(f"{name}: {most + more} arguments are given by place, at most {most} can be{told}")
    if strange and not open_ended:
        taken = ", ".join(one.name for one in known)
        return ParameterTypeError(f"{strange[0]}: {name} has no such argument{hint(strange[0])}; it takes {taken}")
    for place, one in enumerate(signature.parameters.values()):
        given_so = place < len(given) and one.kind <= one.POSITIONAL_OR_KEYWORD
        needed = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        by_name = one.name in keywords and one.kind is not one.POSITIONAL_ONLY
        if needed and not given_so and not by_name:
            hints = "".join(hint(word) for word in strange)
            return ParameterTypeError(f"{one.name}: {name} needs it; give {words(_hint(function, one))}{hints}")
    return None


def _no_hint(name: str) -> str:
    """The names of other tuners mean nothing outside of the lab."""
    return ""


def _check(function: Callable[..., Any], one: inspect.Parameter) -> Check:
    """What looks at a parameter's value, and returns what the function gets."""
    name, default, hint = one.name, one.default, _hint(function, one)
    test = is_seed if name == "seed" and hint is int else test_of(hint)
    listed, keeps_scalars = _iterates(hint), hint is Any
    is_float = float in alternatives(hint) and int not in alternatives(hint)
    quick = DeviceArray if test is not is_seed and _takes_device_arrays(hint) else _Never

    def check(value: Any) -> Any:
        if value is default or type(value) is quick:
            return value
        if listed:
            value = _listed(name, value, hint)
        if not test(value):
            raise _refusal(name, value, hint)
        if is_float and is_number(value) and (not isinstance(value, int | float) or abs(value) >= EXACT):
            value = float(value)  # fractions and long integers too: NumPy's functions take neither
        if isinstance(value, str) and type(value) is not str and not keeps_scalars:
            return str.__str__(value)  # without the methods of the caller's own class
        if isinstance(value, np.generic) and not keeps_scalars:  # Python's own numbers do not overflow
            return float(value) if isinstance(value, np.floating) else value.item()
        return value

    return check


class _Never:
    """The type of no value."""


def _takes_device_arrays(hint: Any) -> bool:
    constraints = getattr(hint, "__constraints__", ())  # of a TypeVar
    return DeviceArray in (constraints or alternatives(hint))


def _hint(function: Callable[..., Any], one: inspect.Parameter) -> Any:
    def holder() -> None: ...

    holder.__annotations__ = {} if one.annotation is one.empty else {one.name: one.annotation}
    try:
        return typing.get_type_hints(holder, getattr(function, "__globals__", {})).get(one.name, Any)
    except NameError:  # imported for type checkers alone
        return Any


def _refusal(name: str, value: Any, hint: Any) -> Exception:
    if is_masked(value):
        return ArrayTypeError(f"{name}: masks of masked arrays are ignored; use {name}.filled(...) or its .data")
    for key, one in value.items() if isinstance(value, dict) else ():
        if is_masked(one):
            return _refusal(f"{name}[{key!r}]", one, hint)
    if (inside := _misfit_inside(name, value, hint)) is not None:
        return inside
    if is_real(value) and not is_number(value) and float in alternatives(hint):
        return ParameterError(f"{name}: it is more than a float64 holds; give a smaller one")
    if is_integral(value) and not -LARGEST <= int(value) < LARGEST:
        return ParameterError(f"{name}: it is a whole number of {int(value).bit_length()} bits; give one below 2^63")
    if isinstance(value, str) and str in alternatives(hint) and not is_text(value):
        return ParameterTypeError(f"{name}: {_shown(value)} is no text of Unicode: half of a character stands in it")
    if name == "seed" and is_integral(value):
        return ParameterError(f"seed: it is {int(value)}; give a whole number of at least 0")
    if is_of_arrays(hint):
        cure = (
            f"{name}.astype(np.float32)" if isinstance(value, np.ndarray) else f"np.asarray({name}, dtype=np.float32)"
        )
        return ArrayTypeError(f"{name}: it is {_shown(value)}; give {words(hint)} of real numbers, e.g. {cure}")
    called = [typing.get_origin(one) for one in alternatives(hint)]
    known = (
        "; what is known already is one as lambda: value"
        if name == "reference" and collections.abc.Callable in called and _holds_values(value)
        else ""
    )
    return ParameterTypeError(f"{name}: it is {_shown(value)}; give {words(hint)}{known}")


def _misfit_inside(name: str, value: Any, hint: Any) -> Exception | None:
    """The refusal of the first key or value that a dictionary may not hold, where it is a mapping that is due."""
    due = next((one for one in alternatives(hint) if typing.get_origin(one) is collections.abc.Mapping), None)
    if due is None or not isinstance(value, dict):
        return None
    of_key, of_value = typing.get_args(due)
    for key in value:
        if not test_of(of_key)(key):
            return _refusal(f"{name}: its key", key, of_key)
    for key, one in value.items():
        if not test_of(of_value)(one):
            return _refusal(f"{name}[{_shown(key)}]", one, of_value)
    return None


def _holds_values(value: Any) -> bool:
    return isinstance(value, np.ndarray | list | tuple | dict)


def _iterates(hint: Any) -> bool:
    return any(typing.get_origin(one) is collections.abc.Iterable for one in alternatives(hint))


def _listed(name: str, value: Any, hint: Any) -> Any:
    """What can be iterated over alone, as a list, where an iterable is due: it can be looked at and used again."""
    plain = (collections.abc.Sequence, collections.abc.Mapping, np.ndarray)
    if isinstance(value, plain) or not isinstance(value, collections.abc.Iterable):
        return value
    if any(isinstance(value, one) for one in alternatives(hint) if isinstance(one, type)):
        return value
    numbers = any(typing.get_args(one) == (int,) for one in alternatives(hint))
    try:
        listed = list(itertools.islice(value, MOST_NUMBERS + 1 if numbers else None))
    except Exception as error:  # of the caller's own object
        let_through(error)
        raise ParameterTypeError(f"{name}: it cannot be listed ({error}); give {words(hint)}") from error
    if numbers and len(listed) > MOST_NUMBERS:  # as of itertools.count()
        raise ParameterError(f"{name}: it goes on after {MOST_NUMBERS:,}; give fewer whole numbers")
    return listed


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    plain = value is None or isinstance(value, bool | float | str | complex) or type(value) is int
    kind = type(value).__name__ + (" of bytes" if is_path_of_bytes(value) else "")
    text = ascii(value) if plain else f"an {kind}" if kind[0].lower() in "aeiou" else f"a {kind}"
    return text if len(text) < 60 else text[:57] + "..."
