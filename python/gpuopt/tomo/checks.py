"""Checks of arguments: the error of each names the argument and the fix."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuopt._core import ArrayError, DeviceArray, Error, ParameterError
from gpuopt.annotations import is_integral, is_number, is_whole
from gpuopt.checked import real, unmasked
from gpuopt.signals import let_through

Float64Array = NDArray[np.float64]

DATA_AXES = {2: ("view", "u"), 3: ("view", "v", "u")}
IMAGE_AXES = {2: ("y", "x"), 3: ("z", "y", "x")}

# What fp32 tables of rays and whole numbers of places hold, with room for the squares and cubes of lengths.
SHORTEST, LONGEST = 1e-12, 1e12  # mm
MOST_RADIANS = 1e6
MOST_CELLS, MOST_VIEWS = 1 << 30, 1 << 24  # along an axis
_MOST_TURNS = 2  # Where a scan does not advance along z, angles that span more may be degrees, taken for radians.
_AT_ONCE = 1 << 24  # elements that are looked at before signals are
_MOST_WORK: Any = 1 << 20  # of a search that could take for ever; views of arrays need a few steps
_UNITS = {"rad": 1.0, "deg": math.pi / 180}


def number(name: str, given: Any, unit: str = "mm") -> float:
    """``given`` as a finite float."""
    if not is_number(given) or not math.isfinite(given):
        raise ParameterError(f"{name}: {_shown(given)} is no number; give {unit}")
    return float(given)


def _shown(given: Any) -> str:
    text = ascii(given) if isinstance(given, bool | float | str | None) or is_whole(given) else type(given).__name__
    return text[:60]


def positive(name: str, given: Any, unit: str = "mm") -> float:
    """``given`` as a finite float above 0."""
    value = number(name, given, unit)
    if value <= 0:
        raise ParameterError(f"{name}: {_shown(given)} cannot be; give {unit}, above 0")
    return value


def length(name: str, given: Any, least: float = SHORTEST) -> float:
    """``given`` as the length of something, ``least`` to ``LONGEST``."""
    value = positive(name, given)
    if not least <= value <= LONGEST:
        raise ParameterError(f"{name}: {_shown(given)} mm is out of range; give {least:g} to {LONGEST:g} mm")
    return value


def place(name: str, given: Any, unit: str = "mm") -> float:
    """``given`` as a coordinate, at most ``LONGEST`` away from 0."""
    value = number(name, given, unit)
    if abs(value) > LONGEST:
        raise ParameterError(f"{name}: {_shown(given)} is out of range; give {unit}, from {-LONGEST:g} to {LONGEST:g}")
    return value


def radians(name: str, given: Any, factor: float = 1.0, unit: str = "an angle") -> float:
    """``factor`` times ``given`` as an angle, at most ``MOST_RADIANS`` away from 0: beyond it rounding turns scans."""
    value = factor * number(name, given, unit)
    if abs(value) > MOST_RADIANS:
        raise ParameterError(
            f"{name}: {_shown(given)} is out of range; give {unit}, from {-MOST_RADIANS / factor:g} to "
            f"{MOST_RADIANS / factor:g}"
        )
    return value


def count(name: str, given: Any, most: int = 1 << 31) -> int:
    """``given`` as a whole number above 0, at most ``most``."""
    if not is_integral(given) or int(given) < 1:
        raise ParameterError(f"{name}: {_shown(given)} is no count; give a whole number of at least 1")
    if int(given) > most:
        raise ParameterError(f"{name}: {_shown(given)} is too many; give at most {most}")
    return int(given)


def counted(number: int, what: str) -> str:
    """``number`` things, one of which is ``what``, for messages."""
    return f"{number} {what}{'s' * (number != 1)}"


def each(name: str, given: Any, axes: Sequence[str]) -> list[tuple[str, Any]]:
    """The name and the value for each of ``axes``, from a value for each or one value for all."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (tuple, list)):
        return [(f"{name} along {axis}" if len(axes) > 1 else name, given) for axis in axes]
    if len(given) != len(axes):
        raise ParameterError(
            f"{name}: {reprlib.repr(given)} has {len(given)} entries; give ({', '.join(axes)}), or one for all"
        )
    return [(f"{name} along {axis}", value) for axis, value in zip(axes, given, strict=True)]


def unit(given: str | None) -> float:
    """The factor that takes angles in the ``units`` "rad", "deg" or None, which are radians, to radians."""
    if given not in (None, *_UNITS):
        raise ParameterError(f"units: {given!r} is not known; give 'rad', 'deg', or None for radians that are checked")
    return _UNITS[given or "rad"]


def angles(name: str, given: Any, whole: float, advances: bool = False, units: str | None = None) -> Float64Array:
    """View angles in radians, fp64 and read-only: those ``given`` in ``units``, or as many as ``given`` says, spread
    evenly from 0 over ``whole``.

    Raises ParameterError where the units are not said and they span more than two turns of a scan that does not advance
    along z: they may be degrees.
    """
    factor = unit(units)
    if is_integral(given):
        found = whole * np.arange(count(name, given, MOST_VIEWS)) / int(given)
    else:
        found = factor * vector(name, given, "angles, or how many")
        farthest = float(np.abs(found).max())
        if farthest > MOST_RADIANS:
            raise ParameterError(
                f"{name}: {farthest:g} rad is out of range; give angles of at most {MOST_RADIANS:g} rad"
            )
    span = float(np.ptp(found))
    if units is None and not advances and span > _MOST_TURNS * 2 * math.pi * (1 + 1e-9):
        raise ParameterError(
            f"{name}: they span {span:.5g} rad, {span / (2 * math.pi):.3g} turns of a scan that does not advance; say "
            'units="deg" if they are degrees, or units="rad"'
        )
    return frozen(found)


def vector(name: str, given: Any, what: str) -> Float64Array:
    """``given`` as finite numbers (n,), n at least 1."""
    array = real(name, given, what)
    if array.ndim != 1 or not array.size:
        raise ArrayError(f"{name}: its shape is {array.shape}; give (n,), {what}")
    if not np.isfinite(array).all():
        raise ArrayError(f"{name}: entry {np.flatnonzero(~np.isfinite(array))[0]} is NaN or infinite; give {what}")
    return array


def indices(name: str, given: Any, views: int) -> np.ndarray:
    """The indices of some views, from whole numbers in any order, a slice or a mask that leaves at least one. Raises
    ParameterError."""
    try:
        wanted = given if isinstance(given, slice) else np.asarray(unmasked(name, given))
        empty = not isinstance(wanted, slice) and not wanted.size
        found = np.arange(0) if empty else np.atleast_1d(np.arange(views)[wanted])
    except Error:
        raise
    except Exception as error:  # an object's own __array__ may raise anything
        let_through(error)
        raise ParameterError(f"{name}: {error}; there are {views}, from 0") from error
    if not found.size or found.ndim > 1:
        raise ParameterError(f"{name}: give a list of at least one, or a slice that leaves one")
    return found


def view(given: Any, views: int) -> int:
    """The index of a view. Raises ParameterError."""
    try:
        fits, told = is_integral(given) and -views <= int(given) < views, repr(given)
    except Exception as error:  # an object's own methods may raise anything
        let_through(error)
        fits, told = False, f"a {type(given).__name__}"
    if not fits:
        raise ParameterError(f"view: {told} is none; give one from {-views} to {views - 1}")
    return int(given)


def centres(count: int, pitch: float = 1.0, middle: float = 0.0) -> Float64Array:
    """The centres of ``count`` cells side by side, ``pitch`` apart, whose middle is at ``middle``."""
    return np.asarray(middle + (np.arange(count) - (count - 1) / 2) * pitch, dtype=np.float64)


def frozen(array: np.ndarray) -> Float64Array:
    """A read-only fp64 copy, for geometries, which never change."""
    kept = np.array(array, dtype=np.float64)
    kept.flags.writeable = False
    return kept


def shape(name: str, given: Any, expected: tuple[int, ...], axes: Sequence[str], of: str) -> None:
    """Refuses an array whose shape is not ``expected``; the message names the axis."""
    expected = tuple(expected)  # an operator of the caller's own may have a list
    found = getattr(given, "shape", None)
    if not isinstance(found, tuple):
        found = real(name, given, f"({', '.join(axes)})").shape
    if found == expected:
        return
    hint = ""
    if len(found) == 3 and (found[1], found[0], found[2]) == expected and axes == DATA_AXES[3]:
        hint = '; it looks like (v, view, u): say axes="vau"'
    elif len(found) == 2 and found[::-1] == expected:
        hint = f"; it looks transposed: give np.ascontiguousarray({name}.T)"
    if len(found) != len(expected):
        raise ArrayError(f"{name}: its shape is {found}; give ({', '.join(axes)}) = {expected}, that of {of}{hint}")
    wrong = next(i for i in range(len(expected)) if found[i] != expected[i])
    raise ArrayError(
        f"{name}: its axis {axes[wrong]} has {found[wrong]} entries, {of} {expected[wrong]}; give "
        f"({', '.join(axes)}) = {expected}{hint}"
    )


def apart(name: str, given: Any, out: Any) -> None:
    """Refuses an ``out`` that shares memory with the argument ``name``, of which parts are read after others are
    overwritten."""
    if isinstance(out, DeviceArray):
        met = isinstance(given, DeviceArray) and out.shares_memory(given)
    else:
        met = isinstance(out, np.ndarray) and isinstance(given, np.ndarray) and _share_memory(given, out)
    if met:
        raise ArrayError(f"out: it shares memory with {name} and would overwrite what is yet to be read; give another")


def _share_memory(one: np.ndarray, other: np.ndarray) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except np.exceptions.TooHardError:
        return True


def lines(projections: np.ndarray) -> np.ndarray:
    """Projections (view, u) or (view, v, u), float32 or float64, whose values are yet to be looked at."""
    found = np.asarray(projections)
    if found.ndim not in DATA_AXES:
        raise ArrayError(f"projections: their shape is {found.shape}; give (view, u) or (view, v, u)")
    float_dtype("projections", found)
    return found


def floats(name: str, array: np.ndarray, axes: Sequence[str]) -> None:
    """Refuses an array whose dtype is not native float32 or float64, or that holds NaN or infinity; the message says
    where and how many."""
    float_dtype(name, array)
    finite(name, array, axes)


def float_dtype(name: str, array: np.ndarray) -> None:
    """Refuses an array whose dtype is not native float32 or float64."""
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise ArrayError(
            f"{name}: its dtype is {array.dtype.str}, not native float32 or float64; use {name}.astype(np.float32)"
        )


def finite(
    name: str,
    array: np.ndarray,
    axes: Sequence[str],
    fix: str = "repair or mask such pixels",
    rows: range | np.ndarray | None = None,
) -> None:
    """Refuses an array of real numbers that holds NaN or infinity; the message says where and how many. ``rows`` are
    the indices along its second axis, if they are not from 0 on. Signals are answered meanwhile."""
    # The minimum and the maximum show NaN and infinity without a mask as large as the array.
    if not array.size or all(np.isfinite(part.min()) and np.isfinite(part.max()) for part in _parts(array)):
        return
    wrong = np.flatnonzero(~np.isfinite(array))
    place = [int(index) for index in np.unravel_index(wrong[0], array.shape)]
    if rows is not None:
        place[1] = int(rows[place[1]])
    where = ", ".join(f"{axis} {index}" for axis, index in zip(axes, place, strict=True))
    others = f", as the first of {len(wrong)}" if len(wrong) > 1 else ""
    raise ArrayError(f"{name}: {where} holds NaN or infinity{others}; {fix}")


def parts(count: int, each: int, most: int) -> list[slice]:
    """Rows, or columns, of ``each`` numbers in parts of about ``most`` numbers, between which signals are answered."""
    step = max(1, most // max(each, 1))
    return [slice(start, start + step) for start in range(0, count, step)]


def _parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """Views of at most ``_AT_ONCE`` elements each, which lie close together."""
    if array.size <= _AT_ONCE:
        yield array
        return
    axis = max((i for i in range(array.ndim) if array.shape[i] > 1), key=lambda i: abs(array.strides[i]))
    for half in np.array_split(array, 2, axis):
        yield from _parts(half)
