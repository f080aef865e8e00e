"""Tuning tasks as JSON, T1 1.0.0, as KTT and Kernel Tuner have them: read as kernels. Files are only read."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.kernels import arguments, stages, tolerances
from gpuopt.lab.kernels.arguments import Argument, Array, identifier
from gpuopt.lab.kernels.binding import checked_options
from gpuopt.lab.kernels.expressions import MOST_CHARACTERS, Expression, Number
from gpuopt.lab.kernels.json_parts import Part, as_arithmetic
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.kernels.listed_values import levels_in
from gpuopt.lab.kernels.published import json_of
from gpuopt.lab.kernels.space import Level, Space, levels_of
from gpuopt.lab.kernels.stages import Launch
from gpuopt.lab.kernels.task import MOST_BYTES, DeclaredWork
from gpuopt.lab.kernels.tolerances import Tolerance
from gpuopt.signals import let_through, real_path

AXES = ("X", "Y", "Z")
MOST_GENERATED = 2**24  # elements that an expression is computed for, one by one
LOW = "gpuopt_low"  # where ranges begin; T1's begin at 0
TEXT_HASH = "gpuopt_text_sha256"  # of the text that a task was written with
# T1's types by ours and the elements of a vector; its "float16" is a vector of 16 floats, and "half" is our float16.
TYPES = {
    **{f"{sign}int{bits}": (f"{sign}int{bits}", 1) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{
        f"{base}{width if width > 1 else ''}": (ours, width)
        for base, ours in (("half", "float16"), ("float", "float32"), ("double", "float64"))
        for width in (1, 2, 4, 8, 16)
    },
}
_PROBLEM_SIZE = re.compile(r"\bProblemSize\s*\[\s*(\d{1,2})\s*\]")
_OF_LEVELS = re.compile(r"\b(max|min)\s*\(\s*([A-Za-z_]\w*)\s*\)", re.ASCII)
_DATA = "give the array when you call: kernel.problem(data={...})"


@dataclass(frozen=True)
class Fill:
    """What a T1 file fills an array with: a number, or an expression of ``i``, the element's index."""

    kind: str  # "Constant" or "Generator"
    source: float | Expression
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __call__(self, random: np.random.Generator | None = None) -> np.ndarray:
        """The array, which does not depend on ``random``. Raises ParameterError, also for a value that the type does
        not hold."""
        if not isinstance(self.source, Expression):
            return np.full(self.shape, self.source, self.dtype)
        made = (self._element(self.source, i) for i in range(int(np.prod(self.shape))))
        return np.fromiter(made, self.dtype).reshape(self.shape)

    def _element(self, source: Expression, i: int) -> int | float:
        found = source.value({"i": i})
        if not _fits(found, self.dtype):
            shown = found if isinstance(found, int) else f"{float(found):g}"
            raise ParameterError(f"{source.what}: {source.text!r} is {shown} for i={i}, which is no {self.dtype}")
        return float(found) if self.dtype.kind == "f" else int(found)


def _fits(number: Number | float, dtype: np.dtype[Any]) -> bool:
    """Whether a number lies in the range of a dtype."""
    if dtype.kind == "f":
        most = float(np.finfo(dtype).max)
        return -most <= number <= most
    limits = np.iinfo(dtype)
    return limits.min <= int(number) <= limits.max


@checked
def read_t1(
    path: str | Path,
    *,
    reference: Callable[..., Any] | None = None,
    tolerance: Tolerance | float | None = None,
    work: DeclaredWork | None = None,
    name: str = "",
) -> Kernel:
    """Reads a tuning task, T1 1.0.0, as a kernel.

    The source is the file's ``KernelFile``, in its folder or below it; a warning says where that is no longer the text
    that :func:`lab.write_t1` wrote with the task. Arguments have the names and the sizes of the file. What a run must
    compute T1 says only as ``ReferenceArguments``; where it has none, or for results that follow from the inputs, give
    ``reference``, and ``tolerance`` and ``work`` as of :class:`Kernel`. ``name`` is what tables call the kernel, by
    default the function's name.

    Where a file has Kernel Tuner's ``ProblemSize`` and ``GridDivX``, they say how many work-groups there are, as they
    do there, and not ``GlobalSize``. Random data are drawn by the seed of ``kernel.problem``, not by ``RandomSeed``.
    Raises ParameterError, which names the file and the place in it, for what is damaged, of another language than
    OpenCL, outside of the grammar of expressions, or more than T1's declaration of one kernel.

    Examples
    --------
    >>> text = "kernel void ones(global float* y) { y[get_global_id(0)] = 1; }"
    >>> ones = lab.Kernel(text, "ones", arguments=[lab.output("y", "n")], launch=lab.launch(items="n", local=32))
    >>> lab.write_t1(ones, "ones.json", n=128)
    >>> lab.read_t1("ones.json", reference=lambda: np.ones(128))
    <gpuopt.lab.Kernel ones: y>
    """
    file = Path(path)
    try:
        whole = Part(json_of(file), "")
        spec = whole.part("KernelSpecification")
        spec.one_of("Language", ("OpenCL",))
        space = _space(whole)
        given = _Sizes(spec, space.levels)
        declared = [_argument(one, index, given) for index, one in enumerate(spec.parts("Arguments"), 1)]
        launch = _launch(spec, given, {*space.levels, *(one.name for one in declared)})
        function = identifier(spec.text("KernelName"), spec.at("KernelName"))
        stated, stated_tolerance = (None, None) if reference else _stated(spec, declared)
        made = Kernel(
            _source(file, spec),
            name or function,
            parameters=dict(space.levels),
            arguments=declared,
            stages=[stages.stage(function, [one.name for one in declared], launch)],
            constraints=[one.text for one in space.constraints],
            reference=reference or stated,
            tolerance=stated_tolerance if tolerance is None else tolerance,
            work=work,
            options=_options(spec),
        )
        _compare_text(made.code.source.files[0], spec)
        return made
    except ParameterError as error:
        says = str(error)
        raise ParameterError(says if says.startswith("path: ") else f"path: {path}: {says}") from error


@checked
def read_space(path: str | Path) -> Space:
    """The configurations that a T1 file admits, of a kernel in any language: with published results a test of a search
    without its device. Raises ParameterError, as :func:`read_t1`."""
    try:
        return _space(Part(json_of(Path(path)), ""))
    except ParameterError as error:
        says = str(error)
        raise ParameterError(says if says.startswith("path: ") else f"path: {path}: {says}") from error


def _space(whole: Part) -> Space:
    part = whole.part("ConfigurationSpace")
    levels: dict[str, tuple[Level, ...]] = {}
    for one in part.parts("TuningParameters"):
        name, place = identifier(one.text("Name"), one.at("Name")), one.at("Values")
        one.one_of("Type", ("int", "uint", "float", "bool", "string"), "int")
        if name in levels:
            raise ParameterError(f"{one.at('Name')}: {name!r} stands twice")
        given = one.listed("Values") if one.is_list("Values") else levels_in(one.text("Values"), place)
        levels |= levels_of({name: given})
    constraints = []
    for one in part.parts("Conditions"):
        found = Expression(one.text("Expression"), one.at("Expression"))
        _check_names(found, levels)
        constraints.append(found)
    return Space(levels, constraints)


def _check_names(one: Expression, known: Any) -> None:
    if unknown := sorted(one.names - set(known)):
        listed = ", ".join(sorted(known)) or "none"
        raise ParameterError(f"{one.what}: {one.text!r} has an unknown {unknown[0]!r}; known: {listed}")


class _Sizes:
    """What texts of sizes may name: Kernel Tuner's ``ProblemSize``, and the largest level of a parameter."""

    def __init__(self, spec: Part, levels: Mapping[str, Sequence[Level]]) -> None:
        self.levels = levels
        place = spec.at("ProblemSize")
        self.problem: list[str] = []
        if spec.has("ProblemSize"):
            try:
                self.problem = [as_arithmetic(one, place) for one in spec.listed("ProblemSize")]
            except ParameterError:
                self.problem = [spec.arithmetic("ProblemSize")]
        if len(self.problem) > len(AXES):
            raise ParameterError(f"{place}: it has {len(self.problem)} dimensions; up to 3 are possible")

    def plain(self, text: str, place: str) -> str:
        """The text without ProblemSize[...] and max(parameter). Raises ParameterError, also for one that is or becomes
        longer than an expression may be."""
        length = 0

        def longer(by: int) -> None:
            nonlocal length
            length += by
            if length > MOST_CHARACTERS:
                raise ParameterError(
                    f"{place}: an expression of more than {MOST_CHARACTERS} characters; write it shorter"
                )

        def size(found: re.Match[str]) -> str:
            if int(found[1]) >= len(self.problem):
                raise ParameterError(f"{place}: {found[0]} is none of {len(self.problem)} sizes")
            put = self.problem[int(found[1])]
            longer(len(put) + 2 - len(found[0]))
            return f"({put})"

        def level(found: re.Match[str]) -> str:
            levels = [one for one in self.levels.get(found[2], ()) if isinstance(one, int)]
            put = str((max if found[1] == "max" else min)(levels)) if levels else found[0]
            longer(len(put) - len(found[0]))
            return put

        longer(len(text))
        return _OF_LEVELS.sub(level, _PROBLEM_SIZE.sub(size, text))

    def count(self, part: Part) -> int:
        """The number of elements of an array."""
        place = part.at("Size")
        return Expression(self.plain(part.arithmetic("Size"), place), place).whole({})


def _source(file: Path, spec: Part) -> Path:
    named = spec.text("KernelFile")
    try:
        folder = Path(real_path(file)).parent
        found = Path(real_path(folder / named))
    except (OSError, ValueError) as error:
        let_through(error)
        raise ParameterError(f"{spec.at('KernelFile')}: {named[:80]!r} is no path ({error})") from error
    if not found.is_relative_to(folder):
        raise ParameterError(f"{spec.at('KernelFile')}: {named!r} lies outside of the file's folder; copy it there")
    return found


def hash_of(text: bytes) -> str:
    """The same whatever ends its lines."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()


def _compare_text(file: Path, spec: Part) -> None:
    """Warns of a text that is not the one that the task was written with, where the task says which that is."""
    if spec.has(TEXT_HASH) and spec.text(TEXT_HASH) != hash_of(file.read_bytes()):
        warnings.warn(
            f"{file.name} is not the text that the task was written with; where it was changed on purpose, delete "
            f"{spec.at(TEXT_HASH)} from the task",
            stacklevel=4,
        )


def _options(spec: Part) -> str:
    if spec.has("SharedMemory") and spec.number("SharedMemory") != 0:
        raise ParameterError(
            f"{spec.at('SharedMemory')}: OpenCL takes local memory as an argument; use one of MemoryType Local"
        )
    listed = spec.listed("CompilerOptions")
    try:
        return checked_options(" ".join(str(one) for one in listed))
    except ParameterError as error:
        raise ParameterError(f"{spec.at('CompilerOptions')}: {str(error).removeprefix('options: ')}") from error


def _argument(part: Part, number: int, given: _Sizes) -> Argument:
    name = identifier(part.text("Name", f"argument_{number}"), part.at("Name"))
    kind = part.one_of("MemoryType", ("Scalar", "Vector", "Local"))
    ours, width = TYPES[part.one_of("Type", tuple(TYPES))]
    dtype: np.dtype[Any] = np.dtype(ours)
    if kind == "Scalar":
        if width > 1:
            raise ParameterError(f"{part.at('Type')}: a vector by value is not supported")
        return arguments.value(name, dtype, _fitting(part, dtype) if part.has("FillValue") else None)
    if kind == "Local":
        place = part.at("Size")
        elements = Expression(given.plain(part.arithmetic("Size"), place), place)
        return arguments.local(name, f"({elements.text}) * {dtype.itemsize * width}")
    shape = (given.count(part), *((width,) if width > 1 else ()))
    if int(np.prod([float(one) for one in shape])) * dtype.itemsize > MOST_BYTES:
        raise ParameterError(f"{part.at('Size')}: it is more memory than there is")
    return _vector(part, name, shape, dtype)


def _vector(part: Part, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    access = part.one_of("AccessType", ("ReadOnly", "WriteOnly", "ReadWrite"), "ReadWrite")
    if access == "WriteOnly":
        return arguments.output(name, shape, dtype)
    constant = access == "ReadOnly" and part.has("MemType") and part.text("MemType") == "Constant"  # Kernel Tuner's
    made = arguments.constant if constant else arguments.input if access == "ReadOnly" else arguments.inout
    kind = part.one_of("FillType", ("Random", "Constant", "Generator", "BinaryRaw", "BinaryHDF", "Script"), "Constant")
    if kind == "Random":
        high = float(part.number("FillValue", 1.0))
        low = float(part.number(LOW, 0.0)) if part.has(LOW) else 0.0
        if not low < high:
            raise ParameterError(f"{part.at('FillValue')}: {high:g} is not above {low:g}, where the range begins")
        return made(name, shape, dtype, low=low, high=high)
    if kind in ("Constant", "Generator"):
        return made(name, shape, dtype, data=_fill(part, kind, shape, dtype))
    raise ParameterError(f"{part.at('FillType')}: {kind} is not supported; make it Random, then {_DATA}")


def _fill(part: Part, kind: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Fill:
    if kind == "Constant":
        return Fill(kind, _fitting(part, dtype), shape, dtype)
    found = Expression(part.text("DataSource"), part.at("DataSource"))
    _check_names(found, ("i",))
    if int(np.prod([float(one) for one in shape])) > MOST_GENERATED:
        raise ParameterError(f"{part.at('Size')}: an array of more than {MOST_GENERATED:,} elements is not generated")
    return Fill(kind, found, shape, dtype)


def _fitting(part: Part, dtype: np.dtype[Any]) -> int | float:
    """The fill value, which the type must hold."""
    found = part.number("FillValue", 0)
    value = float(found) if dtype.kind == "f" else int(found)
    if (found != value and dtype.kind != "f") or not _fits(value, dtype):
        raise ParameterError(f"{part.at('FillValue')}: {found:g} is no {dtype}")
    return value


def _launch(spec: Part, given: _Sizes, known: set[str]) -> Launch:
    local = _three(spec.part("LocalSize"), given, known)
    divisors = [spec.listed(f"GridDiv{axis}") for axis in AXES]
    if given.problem and any(divisors):
        counted = {"groups": _groups(spec, given, known, local)}
    else:
        theirs = spec.one_of("GlobalSizeType", ("OpenCL", "CUDA", "Vulkan"), "OpenCL")
        sizes = _three(spec.part("GlobalSize"), given, known)
        counted = {"items" if theirs == "OpenCL" else "groups": sizes}
    ((kind, sizes),) = counted.items()
    used = max((axis for axis in (1, 2) if (sizes[axis], local[axis]) != ("1", "1")), default=0) + 1
    shapes = {kind: tuple(sizes[:used]), "local": tuple(local[:used])}
    return stages.launch(**shapes)


def _three(part: Part, given: _Sizes, known: set[str]) -> list[str]:
    return [_checked(part.arithmetic(axis, None if axis == "X" else "1"), part.at(axis), given, known) for axis in AXES]


def _checked(text: str, place: str, given: _Sizes, known: set[str]) -> str:
    found = Expression(given.plain(text, place), place)
    _check_names(found, known)
    return found.text


def _groups(spec: Part, given: _Sizes, known: set[str], local: list[str]) -> list[str]:
    """Work-groups as Kernel Tuner counts them: sizes over the products of their divisors, by default the group's."""
    found: list[str] = []
    for axis, size, own in zip(AXES, [*given.problem, "1", "1"], local, strict=False):
        place = spec.at(f"GridDiv{axis}")
        by = [as_arithmetic(one, place) for one in spec.listed(f"GridDiv{axis}")] or [own]
        beyond = len(found) >= len(given.problem)
        text = "1" if beyond else f"ceil(({size}) / ({' * '.join(f'({one})' for one in by)}))"
        found.append(_checked(text, place, given, known))
    return found


def _stated(spec: Part, declared: Sequence[Argument]) -> tuple[Callable[..., Any] | None, Tolerance | None]:
    """The reference that a file states by numbers, and its tolerance."""
    results = {one.name: one for one in declared if isinstance(one, Array) and one.is_result}
    right: dict[str, Fill] = {}
    tolerance = None
    for part in spec.parts("ReferenceArguments"):
        name = part.text("TargetName")
        if name not in results:
            listed = ", ".join(results) or "none"
            raise ParameterError(f"{part.at('TargetName')}: {name!r} is no result; those are {listed}")
        kind = part.one_of("FillType", ("Constant", "Generator"))
        shape = tuple(one.whole({}) for one in results[name].shape)
        right[name] = _fill(part, kind, shape, results[name].dtype)
        if part.has("ValidationThreshold") and part.text("ValidationMethod", "") == "SideBySideComparison":
            number = float(part.number("ValidationThreshold"))
            tolerance = tolerances.allowed(number, part.at("ValidationThreshold"))
    if not right:
        return None, None
    if missing := [name for name in results if name not in right]:
        raise ParameterError(f"{spec.at('ReferenceArguments')}: none is of {missing[0]}; give reference=")
    return (lambda: {name: fill() for name, fill in right.items()}), tolerance
