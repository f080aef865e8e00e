"""Numbers and structs that a kernel takes by value, held against their dtypes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.annotations import is_masked, is_number
from gpuopt.lab.kernels.arguments import Value
from gpuopt.lab.kernels.expressions import Number


def checked_value(value: Value | None, name: str, given: Any) -> Any:
    """``given`` as what a kernel gets: an int, a float, or a record; of a size, which has no ``value``, an int. Raises
    ParameterError, which names the argument, for what its dtype does not hold."""
    if isinstance(given, np.generic):
        given = given.item() if given.dtype.fields is None else given
    if value is None or value.dtype.kind in "iu":
        if isinstance(given, bool) or not isinstance(given, int):
            raise ParameterError(f"{name}: {given!r} is no whole number")
        if value is None and given < 0:
            raise ParameterError(f"{name}: it is {given}; a size is at least 0")
        return fitting(name, given, np.dtype(np.int64) if value is None else value.dtype)
    if value.dtype.kind == "f":
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            raise ParameterError(f"{name}: {given!r} is no number")
        try:
            return fitting(name, given, value.dtype)
        except OverflowError as error:
            raise ParameterError(f"{name}: it is too large for a float") from error
    try:
        return _struct(given, value.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(f"{name}: {_plain(given)!r} is no {value.dtype} ({error})") from error


def fitting(name: str, number: Number | float, dtype: np.dtype[Any]) -> int | float:
    """A number as an int or a float. Raises ParameterError where a dtype does not hold it."""
    found: int | float
    if dtype.kind == "f":
        found, most = float(number), float(np.finfo(dtype).max)
        fits = abs(found) <= most or not math.isfinite(found)
    else:
        found, limits = int(number), np.iinfo(dtype)
        fits = limits.min <= found <= limits.max
    if not fits:
        raise ParameterError(f"{name}: {number} does not fit {dtype}; declare a larger dtype")
    return found


def held(values: Iterable[Value], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers as a kernel gets them: of real values what their dtypes hold, as floats; of 0.1 as float32 that is
    0.10000000149011612. Structs are copies: functions may write to them."""
    real = [one for one in values if one.dtype.kind == "f" and one.name in numbers]
    structs = {name: number.copy() for name, number in numbers.items() if isinstance(number, np.void)}
    return {**numbers, **structs, **{one.name: float(one.dtype.type(numbers[one.name])) for one in real}}


def _struct(given: Any, dtype: np.dtype[Any]) -> Any:
    """A struct of a tuple, or of a record with fields of the same names in any order. Raises ValueError."""
    names, theirs = dtype.names or (), getattr(getattr(given, "dtype", None), "names", None)
    if isinstance(given, tuple):
        if len(given) != len(names):
            raise ValueError(f"it is a tuple of length {len(given)}; give {', '.join(names)}")
        parts = dict(zip(names, given, strict=True))
    elif theirs is None:
        raise ValueError("give a tuple of its fields")
    elif given.shape:
        raise ValueError(f"it has the shape {given.shape}; give a tuple of its fields")
    elif set(theirs) != set(names):
        raise ValueError(f"its fields are {', '.join(theirs)}; give {', '.join(names)}")
    else:
        parts = {name: given[name] for name in names}
    made = np.zeros((), dtype)
    for name, part in parts.items():
        made[name] = _field(f"its field {name!r}:", dtype[name], part)
    return made[()]


def _field(what: str, kind: np.dtype[Any], part: Any) -> np.ndarray:
    """A field's number, or its array of numbers. Raises ValueError for what it would not hold as it is: NumPy drops
    fractions, high bits, imaginary parts and masks, reads texts, and repeats what is too short."""
    array, base, shown = np.asarray(part), kind.base, _plain(part)
    if is_masked(part):
        raise ValueError(f"{what} masks of masked arrays are ignored; use x.filled(...)")
    numeric = array.dtype.kind in ("biufc" if base.kind == "c" else "biuf")
    if not numeric and not (array.dtype.kind == "O" and all(map(is_number, array.flat))):
        raise ValueError(f"{what} {shown!r} is no number")
    if array.shape != kind.shape:
        raise ValueError(f"{what} {shown!r} has the shape {array.shape}; give {kind.shape or 'a number'}")
    if base.kind in "iu":
        whole = [_whole(what, number) for number in np.asarray(part, dtype=object).flat]  # floats would round them
        limits = np.iinfo(base)
        if not all(limits.min <= number <= limits.max for number in whole):
            raise ValueError(f"{what} {shown!r} does not fit {base}")
        return np.array(whole, base).reshape(kind.shape)
    if array.dtype.kind == "O":  # fractions, and whole numbers beyond 64 bits
        array = array.astype(np.float64)
    with np.errstate(all="ignore"):
        found = array.astype(base)
    if base.kind == "b" and (found != array).any():
        raise ValueError(f"{what} {shown!r} is neither true nor false")
    if (np.isfinite(array) & ~np.isfinite(found)).any():
        raise ValueError(f"{what} {shown!r} does not fit {base}")
    return found


def _whole(what: str, number: Any) -> int:
    found = int(number)
    if found != number:
        raise ValueError(f"{what} {_plain(number)!r} is no whole number")
    return found


def _plain(given: Any) -> Any:
    """NumPy's as Python's own, for messages."""
    return given.tolist() if isinstance(given, (np.ndarray, np.generic)) else given
