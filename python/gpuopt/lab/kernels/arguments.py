"""What a kernel's arguments are: numbers, arrays that it reads or writes, local memory, images, samplers."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import as_array, checked
from gpuopt.lab.kernels.expressions import Expression, Number, each

Role = Literal["input", "output", "inout", "scratch", "constant", "image"]
Shape = int | str | Sequence[int | str]
Data = np.ndarray | Callable[[np.random.Generator], np.ndarray]
IDENTIFIER = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
SIMPLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64")

# Arguments of the lab's own calls, beside which values and sizes stand.
OF_CALLS = ("device", "configuration")  # arrays stand beside these too
_OF_PROBLEMS = ("data", "seed", "versions", "isolated", "limit_s", "levels", *OF_CALLS)
_OF_SEARCHES = ("strategy", "evaluations", "seconds", "store", "progress", "objective")
_OF_JUDGES = (
    "source",
    "task",
    "name",
    "parameters",
    "launch",
    "stages",
    "constraints",
    "options",
    "level",
    "repeatable",
)
TAKEN = frozenset((*_OF_PROBLEMS, *_OF_SEARCHES, *_OF_JUDGES))


def identifier(name: object, what: str) -> str:
    """``name``, which must be one of C. Raises ParameterError."""
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        raise ParameterError(f"{what}: {name!r} is no name of C; use letters, digits and _")
    return name


@dataclass(frozen=True)
class Value:
    """A number, or a struct, handed over by value."""

    name: str
    dtype: np.dtype[Any]
    default: Any = None
    each: Expression | None = None  # of a repeated stage: what it is in round i


@dataclass(frozen=True)
class Array:
    """Memory of a shape; ``low`` and ``high`` are the range that data are drawn from where none are given."""

    name: str
    role: Role
    shape: tuple[Expression, ...]
    dtype: np.dtype[Any]
    data: Data | None = None
    low: Expression | int | float | None = None
    high: Expression | int | float | None = None
    channels: int = 1

    @property
    def is_given(self) -> bool:
        """Whether a caller brings its contents."""
        return self.role in ("input", "inout", "constant", "image")

    @property
    def is_result(self) -> bool:
        """Whether a caller gets its contents."""
        return self.role in ("output", "inout")


@dataclass(frozen=True)
class Local:
    """Local memory of so many bytes a work-group."""

    name: str
    bytes: Expression


@dataclass(frozen=True)
class Sampler:
    """How a kernel reads pixels, as an argument."""

    name: str
    address: str
    filter: str
    normalized: bool


Argument = Value | Array | Local | Sampler


def fields_in_memory(struct: np.dtype[Any]) -> list[str]:
    """The names of a struct's fields as they lie in memory; of several at one place, empty ones come first."""
    fields: Mapping[str, Any] = struct.fields or {}
    return sorted(struct.names or (), key=lambda name: (fields[name][1], fields[name][0].itemsize))


def _dtype(given: Any, what: str) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(given)
    except (TypeError, ValueError) as error:
        told = repr(given) if not isinstance(given, np.ndarray) else "an array"  # whose text may be long, or an error
        raise ParameterError(f"{what}: {told} is no dtype; use one of {', '.join(SIMPLE)} or a struct") from error
    if found.name not in SIMPLE and found.fields is None:
        raise ParameterError(f"{what}: kernels have no {found}; use one of {', '.join(SIMPLE)} or a struct")
    fields: Mapping[str, Any] = found.fields or {}
    nested = [name for name, (kind, *_) in fields.items() if kind.base.kind in "OSUVmM"]
    if nested:
        raise ParameterError(f"{what}: its field {nested[0]!r} is no number and no array of numbers; use plain fields")
    for before, after in itertools.pairwise(fields_in_memory(found)):
        kind, offset, *_ = fields[before]
        if offset + kind.itemsize > fields[after][1]:
            raise ParameterError(f"{what}: its fields {before!r} and {after!r} overlap; give each memory of its own")
    if not found.isnative or found.hasobject:
        raise ParameterError(f"{what}: {found} is of no native byte order or holds objects; use a plain dtype")
    return found


def _array(
    role: Role,
    name: str,
    shape: Shape,
    dtype: Any,
    data: Data | None = None,
    low: int | float | str | None = None,
    high: int | float | str | None = None,
    channels: int = 1,
) -> Array:
    identifier(name, "name")
    if data is not None and not callable(data):  # what was declared stays, whatever the caller does with theirs
        data = np.array(as_array(f"{name}.data", data, "an array"))
        data.flags.writeable = False
    first, end = (Expression(one, f"{name}.range") if isinstance(one, str) else one for one in (low, high))
    made = Array(name, role, each(shape, f"{name}.shape"), _dtype(dtype, f"{name}.dtype"), data, first, end, channels)
    if not isinstance(low, str | None) and not isinstance(high, str | None):
        check_range(name, low, high, made.dtype)
    return made


def check_range(name: str, low: Number | float, high: Number | float, dtype: np.dtype[Any]) -> None:
    """Raises ParameterError where [low, high) holds no number of the dtype."""
    if not low < high or (dtype.kind in "iu" and math.inf not in (-low, high) and math.ceil(low) >= math.ceil(high)):
        raise ParameterError(f"{name}: {range_text(low, high)} holds no number of {dtype}; give a higher high")


def range_text(low: Number | float, high: Number | float) -> str:
    """`[0, 1e+06)`."""
    return f"[{', '.join(f'{end:g}' if isinstance(end, float) else str(end) for end in (low, high))})"


@checked
def value(name: str, dtype: Any = "int32", default: Any = None, *, each: str | None = None) -> Value:
    """A number that the kernel takes by value; a NumPy structured dtype is a struct.

    ``dtype`` is int8 to int64, uint8 to uint64, float16, float32, float64, or a struct of these and of arrays of these.
    Its fields may lie in any order, but must not overlap. It is given as a tuple of its fields, in the order of the
    dtype's names, or as a record with fields of their names, in any order. A real number is rounded to its dtype, for
    the reference too; expressions take it as it is written. ``default`` serves where a problem or a call gives none.
    ``each`` is an expression of ``i``, the round, for values that change from round to round of a
    :func:`repeat`. Raises ParameterError for what is no name of C, no such dtype or no expression.

    Examples
    --------
    >>> a = lab.value("a", "float32", default=1.5)
    >>> a.dtype, a.default
    (dtype('float32'), 1.5)
    """
    kind = _dtype(dtype, f"{identifier(name, 'name')}.dtype")
    if each is not None and kind.fields is not None:
        raise ParameterError(f"{name}.each: a struct stays as it is in all rounds; declare a number of its own")
    if each is not None and default is not None:
        raise ParameterError(f"{name}.default: each says what it is in every round; leave the default out")
    return Value(name, kind, default, None if each is None else Expression(each, f"{name}.each"))


@checked
def input(  # people read it as lab.input
    name: str,
    shape: Shape,
    dtype: Any = "float32",
    *,
    data: Any = None,
    low: int | float | str | None = None,
    high: int | float | str | None = None,
) -> Array:
    """A buffer that the kernel reads, an array in C order of ``shape``: expressions of sizes, which the arrays that a
    call gives tell.

    Where no array is given, numbers are drawn from [low, high): by default [-1, 1) of floats and [0, 100) of whole
    numbers; an index array takes ``low=0, high="n"``. An empty range is refused at once where both ends are
    numbers; else, and where it holds no number of ``dtype`` or more than that does, when data are drawn. ``data`` is an
    array, which is copied, or a function of a seeded generator. Raises ParameterError, as :func:`value`, and ArrayError
    for data of which NumPy makes no array.

    Examples
    --------
    >>> x = lab.input("x", ("rows", "cols + 2"), "float64")
    >>> [size.text for size in x.shape]
    ['rows', 'cols + 2']
    >>> lab.input("column", "n", "int32", low=0, high="n").dtype
    dtype('int32')
    """
    return _array("input", name, shape, dtype, data, low, high)


@checked
def inout(
    name: str,
    shape: Shape,
    dtype: Any = "float32",
    *,
    data: Any = None,
    low: int | float | str | None = None,
    high: int | float | str | None = None,
) -> Array:
    """A buffer that the kernel reads and writes, restored before each verified run; otherwise as :func:`input`.

    Examples
    --------
    >>> y = lab.inout("y", "n")
    >>> y.is_given, y.is_result
    (True, True)
    """
    return _array("inout", name, shape, dtype, data, low, high)


@checked
def output(name: str, shape: Shape, dtype: Any = "float32") -> Array:
    """A buffer that the kernel writes, every element of it, of a shape as of :func:`input`. Raises ParameterError.

    Examples
    --------
    >>> y = lab.output("y", ("rows", "cols"), "float64")
    >>> y.is_given, y.is_result
    (False, True)
    """
    return _array("output", name, shape, dtype)


@checked
def scratch(name: str, shape: Shape, dtype: Any = "float32") -> Array:
    """A buffer that the kernels work in. Its shape may name parameters too. Raises ParameterError.

    A kernel must not rely on what lies there when a run begins, which may be what an earlier one left or anything else,
    nor on what lies in elements of an output that it does not write.

    Examples
    --------
    >>> parts = lab.scratch("parts", ("GROUPS", "cols"))
    >>> parts.is_given, parts.is_result
    (False, False)
    """
    return _array("scratch", name, shape, dtype)


@checked
def constant(
    name: str,
    shape: Shape,
    dtype: Any = "float32",
    *,
    data: Any = None,
    low: int | float | str | None = None,
    high: int | float | str | None = None,
) -> Array:
    """A buffer in constant memory; otherwise as :func:`input`.

    Examples
    --------
    >>> weights = lab.constant("weights", 3, data=np.array([0.25, 0.5, 0.25], np.float32))
    >>> weights.data.tolist()
    [0.25, 0.5, 0.25]
    """
    return _array("constant", name, shape, dtype, data, low, high)


@checked
def image(name: str, shape: Shape, channels: int = 1, *, data: Any = None) -> Array:
    """A picture of float32 pixels, (height, width), that the kernel reads through a sampler of its own source or one
    that is handed over (:func:`sampler`); with 4 ``channels`` its data are (height, width, 4). Raises ParameterError,
    also for other channels and dimensions.

    Examples
    --------
    >>> picture = lab.image("picture", ("height", "width"), channels=4)
    >>> picture.dtype, picture.channels
    (dtype('float32'), 4)
    """
    if channels not in (1, 4):
        raise ParameterError(f"{name}.channels: it is {channels}; use 1 or 4")
    found = _array("image", name, shape, "float32", data, channels=channels)
    if len(found.shape) != 2:
        raise ParameterError(f"{name}.shape: a picture has a height and a width")
    return found


@checked
def local(name: str, bytes: int | str) -> Local:  # the word of OpenCL
    """Local memory of ``bytes``, an expression, for each work-group, handed over as an argument. Raises ParameterError.

    Examples
    --------
    >>> tile = lab.local("tile", "4 * WIDTH * HEIGHT")
    >>> tile.bytes.value({"WIDTH": 16, "HEIGHT": 8})
    512
    """
    return Local(identifier(name, "name"), Expression(bytes, f"{name}.bytes"))


@checked
def sampler(
    name: str,
    *,
    address: Literal["none", "edge", "border", "repeat", "mirror"] = "edge",
    filter: Literal["nearest", "linear"] = "nearest",  # the word of OpenCL
    normalized: bool = False,
) -> Sampler:
    """A sampler that the kernel takes as an argument, not from its own source.

    ``address`` is what lies outside of a picture: undefined ("none"), its nearest pixel ("edge"), zeros ("border"), the
    picture again ("repeat") or mirrored ("mirror"); the last two want ``normalized`` coordinates, from 0 to 1. Raises
    ParameterError.

    Examples
    --------
    >>> lab.sampler("around", address="repeat", filter="linear", normalized=True)
    Sampler(name='around', address='repeat', filter='linear', normalized=True)
    """
    if address in ("repeat", "mirror") and not normalized:
        raise ParameterError(f"{name}.normalized: {address} wants coordinates from 0 to 1; give normalized=True")
    return Sampler(identifier(name, "name"), address, filter, normalized)


def check_names(arguments: Sequence[object], parameters: Mapping[str, Any]) -> tuple[Argument, ...]:
    """The arguments, each of another name. Raises ParameterError."""
    seen: set[str] = set(parameters)
    for number, one in enumerate(arguments, 1):
        if not isinstance(one, Argument):
            raise ParameterError(
                f"arguments: number {number} is of type {type(one).__name__}; declare what the kernel takes by "
                "lab.value, lab.input, lab.output and their like, and give arrays to problem(data={...})"
            )
        if one.name in seen:
            raise ParameterError(f"{one.name}: the name stands twice among arguments and parameters")
        if isinstance(one, Array) and one.is_given and one.name in OF_CALLS:
            raise ParameterError(f"{one.name}: calls have an argument of this name; call the array otherwise")
        seen.add(one.name)
    return tuple(one for one in arguments if isinstance(one, Argument))
