"""The trusted half of a kernel: its data, its reference, its tolerance and its work."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpuopt import host_memory
from gpuopt._core import ParameterError
from gpuopt.annotations import is_masked
from gpuopt.checked import as_array, checked
from gpuopt.lab.kernels import tolerances
from gpuopt.lab.kernels.arguments import Argument, Array, Value, check_range, range_text
from gpuopt.lab.kernels.expressions import Expression
from gpuopt.lab.kernels.tolerances import Reference, Tolerance
from gpuopt.lab.kernels.values import checked_value, held
from gpuopt.other_names import meant
from gpuopt.signals import let_through

Numbers = dict[str, Any]
Arrays = dict[str, np.ndarray]
MOST_BYTES = 2**40
_FP64 = 8  # bytes of what is drawn, of what a reference gets and returns, and of what is allowed


@dataclass(frozen=True)
class DeclaredWork:
    """Operations and bytes of a run, as expressions of sizes."""

    flops: Expression | None
    read: Expression | None
    write: Expression | None


@checked
def work(flops: int | str | None = None, read: int | str | None = None, write: int | str | None = None) -> DeclaredWork:
    """What a run does, by any algorithm: operations, and bytes that it must read and write at least; each an
    expression of sizes. Bounds and rates are of these. Raises ParameterError for what is no expression; so does
    ``problem`` of a kernel where one of them is below 0.

    Examples
    --------
    >>> saxpy = lab.work(flops="2 * n", read="8 * n", write="4 * n")
    >>> saxpy.flops.value({"n": 1000})
    2000
    """
    parts = {"flops": flops, "read": read, "write": write}
    made = {name: None if text is None else Expression(text, f"work.{name}") for name, text in parts.items()}
    return DeclaredWork(**made)


@dataclass(frozen=True)
class Task:
    """What is to be computed, on which data, and when a result is right. ``name`` is for messages."""

    name: str
    arguments: tuple[Argument, ...]
    reference: Reference | None
    tolerance: Tolerance | None
    work: DeclaredWork | None

    @cached_property
    def by_name(self) -> dict[str, Argument]:
        """The arguments."""
        return {one.name: one for one in self.arguments}

    @cached_property
    def values(self) -> list[Value]:
        """Those that are numbers."""
        return [one for one in self.arguments if isinstance(one, Value)]

    @cached_property
    def arrays(self) -> list[Array]:
        """Those that are memory of a shape."""
        return [one for one in self.arguments if isinstance(one, Array)]

    @cached_property
    def results(self) -> list[Array]:
        """Those that a caller gets."""
        return [one for one in self.arrays if one.is_result]

    def sizes_wanted(self, parameters: Sequence[str]) -> list[str]:
        """Names in shapes of data and results that must be known before there is a problem."""
        names = {name for one in self.arrays if one.role != "scratch" for part in one.shape for name in part.names}
        return sorted(names - set(parameters))

    def numbers(self, given: Mapping[str, Any], arrays: Mapping[str, np.ndarray], parameters: Sequence[str]) -> Numbers:
        """All numbers of a problem, as they are written: those that are given, those that follow from the shapes of
        arrays, and defaults. Raises ParameterError for unknown, missing and contradictory ones."""
        known = self.sizes_wanted(parameters)
        allowed = {one.name: one for one in self.values}
        for name in given:
            if name not in allowed and name not in known:
                listed = ", ".join(sorted({*known, *allowed})) or "none"
                raise ParameterError(f"{name}: {self.name} has no such value; known: {listed}{meant(name)}")
            if name in allowed and (each := allowed[name].each) is not None:
                raise ParameterError(f"{name}: it is {each.text!r} in each round; leave it out")
        found: Numbers = dict(given)
        lengths = self._lengths(arrays)
        self._infer(found, lengths)
        for one in self.values:
            if one.name not in found and one.default is not None:
                found[one.name] = one.default
        missing = [name for name in [*known, *(v.name for v in self.values if v.each is None)] if name not in found]
        sizes = {part.text for array in self.arrays for part in array.shape}
        for name, part, length in lengths:
            unknown = [one for one in part.names if one not in found]
            if len(unknown) == 1 and unknown[0] in sizes and part.contradicts(unknown[0], length, found):
                fits = f"{part.text!r} for no {unknown[0]} of at least 0"
                raise ParameterError(f"{name}: a length of {length} is {fits}; give another array")
        if missing:
            raise ParameterError(f"{missing[0]}: {self.name} needs it; give {', '.join(dict.fromkeys(missing))}")
        return {name: checked_value(allowed.get(name), name, value) for name, value in found.items()}

    def _lengths(self, arrays: Mapping[str, np.ndarray]) -> list[tuple[str, Expression, int]]:
        """The name, the declared and the given length of each axis of arrays; those that are a name come first."""
        lengths = []
        for name, given in arrays.items():
            argument, array = self.by_name.get(name), as_array(name, given, "an array")
            if isinstance(argument, Array) and array.ndim >= len(argument.shape):
                axes = zip(argument.shape, array.shape, strict=False)
                lengths += [(name, part, int(length)) for part, length in axes]
        return sorted(lengths, key=lambda one: not one[1].text.isidentifier())

    def _infer(self, found: Numbers, lengths: Sequence[tuple[str, Expression, int]]) -> None:
        """Adds the sizes that lengths of arrays tell: `n` of a shape `n`, and of `n + 2` where that is its one unknown
        name."""
        for _ in lengths:  # what one tells may be what another lacks
            for _, part, length in lengths:
                unknown = [name for name in part.names if name not in found]
                number = part.solved(unknown[0], length, found) if len(unknown) == 1 else None
                if number is not None:
                    found[unknown[0]] = number

    def shape(self, array: Array, numbers: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of an array for these numbers. Raises ParameterError, also for more than an address can count."""
        found = tuple(part.whole(numbers) for part in array.shape)
        if array.role == "image" and array.channels == 4:
            found = (*found, 4)
        if math.prod(found) * array.dtype.itemsize > MOST_BYTES:
            raise ParameterError(f"{array.name}: its shape {found} is more memory than there is; give smaller sizes")
        return found

    def result_bytes(self, numbers: Mapping[str, Any]) -> int:
        """Of arrays that kernels write alone."""
        outputs = (one for one in self.results if one.role == "output")
        return sum(math.prod(self.shape(one, numbers)) * one.dtype.itemsize for one in outputs)

    def data(self, numbers: Numbers, given: Mapping[str, Any], seed: int | Sequence[int], draw: bool = True) -> Arrays:
        """What each array that a caller brings holds at first: as given, else drawn; copies, but where nothing may be
        drawn. Raises ParameterError."""
        for name in given:
            one = self.by_name.get(name)
            if not isinstance(one, Array) or not one.is_given:
                listed = ", ".join(a.name for a in self.arrays if a.is_given) or "none"
                raise ParameterError(f"{name}: {self.name} takes no such data; it takes {listed}")
        if draw:
            self._check_memory(numbers)
        random = np.random.default_rng(seed)
        found = {}
        for array in self.arrays:
            if array.is_given:
                source = given.get(array.name, array.data)
                if source is None and not draw:
                    raise ParameterError(f"{array.name}: {self.name} needs it; give an array")
                shape = self.shape(array, numbers)
                held = self._fitting(array, self._source(array, source, shape, numbers, random), shape)
                theirs = draw and source is not None  # also a view of theirs, or what a function of theirs keeps
                found[array.name] = (np.array if theirs else np.asarray)(held, order="C")
        return found

    def _check_memory(self, numbers: Numbers) -> None:
        """Raises ParameterError where the data, their fp64 copies and what is right take more than half of the free
        memory: what runs and verifies them takes about as much again."""
        known = [one for one in self.arrays if one.is_given or one in self.results]  # scratch is a configuration's
        sizes = {one.name: math.prod(self.shape(one, numbers)) for one in known}
        needed = sum(sizes[one.name] * (one.dtype.itemsize + _FP64) for one in known if one.is_given)
        needed += sum(sizes[one.name] * 2 * _FP64 for one in self.results) if self.reference is not None else 0
        free = host_memory.free_bytes()
        if free is not None and needed > free // 2:
            largest = max(known, key=lambda one: sizes[one.name])
            raise ParameterError(
                f"{largest.name}: with it, of shape {self.shape(largest, numbers)}, {self.name} needs "
                f"{needed / 1e6:,.0f} MB on the host, where {free / 2e6:,.0f} MB may be taken (half of the free "
                "memory); give smaller sizes"
            )

    def _source(
        self, array: Array, source: Any, shape: tuple[int, ...], numbers: Numbers, random: np.random.Generator
    ) -> Any:
        try:
            if source is None:
                return self._drawn(array, shape, numbers, random)
            return as_array(array.name, source(random) if callable(source) else source, "an array")
        except ParameterError:
            raise
        except Exception as error:  # a function of somebody's, or a range that cannot be drawn from
            let_through(error)
            raise ParameterError(f"{array.name}: its data cannot be made ({type(error).__name__}: {error})") from error

    def _drawn(self, array: Array, shape: tuple[int, ...], numbers: Numbers, random: np.random.Generator) -> np.ndarray:
        kind = array.dtype
        if kind.kind == "f":
            low, high = self._range(array, numbers, (-1, 1), float(np.finfo(kind).min), float(np.finfo(kind).max))
            least, most = self._ends(array, float(low), float(high))
            found: np.ndarray = np.clip(random.uniform(float(low), float(high), shape).astype(kind), least, most)
            return found
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            low, high = self._range(array, numbers, (0, 100), int(limits.min), int(limits.max) + 1)
            wide = np.uint64 if high > 2**63 else np.int64
            return random.integers(math.ceil(low), math.ceil(high), shape, wide).astype(kind)
        raise ParameterError(f"{array.name}: data of a struct are not drawn; give data=")

    def _ends(self, array: Array, low: float, high: float) -> tuple[np.floating[Any], np.floating[Any]]:
        """The least and the largest float of the array's dtype within [low, high), which rounding may leave. Raises
        ParameterError where there is none."""
        of = array.dtype.type
        least, most = of(low), of(high)
        least = np.nextafter(least, of(np.inf)) if float(least) < low else least
        most = np.nextafter(most, of(-np.inf)) if float(most) >= high else most
        if not least <= most:
            raise ParameterError(
                f"{array.name}: [{low!r}, {high!r}) holds no number of {array.dtype}; give a higher high"
            )
        return least, most

    def _range(self, array: Array, numbers: Numbers, usual: tuple[int, int], least: float, most: float) -> Any:
        """The ends of what numbers are drawn from. Raises ParameterError for a range without a number, and for one
        beyond what the dtype holds."""
        low, high = (
            default if end is None else end.value(numbers) if isinstance(end, Expression) else end
            for end, default in zip((array.low, array.high), usual, strict=True)
        )
        if low < least or high > most:
            shown = range_text(low, high)
            raise ParameterError(f"{array.name}: {shown} does not fit {array.dtype}; declare a larger dtype")
        check_range(array.name, low, high, array.dtype)
        return low, high

    def _fitting(self, array: Array, given: Any, shape: tuple[int, ...]) -> np.ndarray:
        found = np.asarray(given)
        if found.dtype != array.dtype or found.shape != shape:
            raise ParameterError(
                f"{array.name}: it is {found.dtype} of shape {found.shape}; give {array.dtype} of shape {shape}"
            )
        return found

    def right(self, numbers: Numbers, arrays: Arrays) -> tuple[Arrays, Arrays]:
        """The results in fp64 and what is allowed for each of their elements. Raises ParameterError for a reference
        that raises, or returns other names or shapes."""
        if self.reference is None:
            raise ParameterError(f"reference: {self.name} has none, so nothing can be verified; give a NumPy function")
        wide = {name: a.astype(np.float64) if a.dtype.kind == "f" else a.copy() for name, a in arrays.items()}
        exact = self._called(self.reference, "reference", numbers, wide)
        allowed = self._allowed(numbers, arrays, exact)
        return exact, allowed

    def _allowed(self, numbers: Numbers, arrays: Arrays, exact: Arrays) -> Arrays:
        limit = self.tolerance
        if all(one.dtype.kind != "f" for one in self.results) and (limit is None or limit.absolute is None):
            return {name: np.zeros(values.shape) for name, values in exact.items()}
        if limit is not None and limit.absolute is not None:
            return {name: np.full(values.shape, limit.absolute) for name, values in exact.items()}
        kinds = {one.name: one.dtype for one in self.results}
        if limit is not None and limit.magnitude is not None:
            terms = Expression(limit.terms if limit.terms is not None else 1, "terms").up(numbers)
            wide = {name: a.astype(np.float64) if a.dtype.kind == "f" else a.copy() for name, a in arrays.items()}
            sums = self._called(limit.magnitude, "magnitude", numbers, wide)
            return {
                name: tolerances.of_rounding(name, exact[name], values, terms, kinds[name])
                for name, values in sums.items()
            }
        rough = self._rough(numbers, arrays)
        return {name: tolerances.of_own_type(exact[name], rough[name], kinds[name]) for name in exact}

    def _rough(self, numbers: Numbers, arrays: Arrays) -> Arrays:
        """The results of the reference in the arrays' own types."""
        own = {name: array.copy() for name, array in arrays.items()}
        with np.errstate(all="ignore"):
            return self._called(self.reference, "reference", numbers, own, own_type=True)

    def holds(self, numbers: Numbers, arrays: Arrays, exact: Arrays) -> bool:
        """Whether the types of the task hold its results: what is finite in fp64 is finite in them, and below half of
        the largest number of a result's type. Raises ParameterError as the reference does."""
        rough = self._rough(numbers, arrays)
        for one in self.results:
            if one.dtype.kind == "f":
                finite = np.isfinite(exact[one.name])
                largest = float(np.abs(exact[one.name][finite]).max(initial=0.0))
                if not np.isfinite(rough[one.name][finite]).all() or largest > float(np.finfo(one.dtype).max) / 2:
                    return False
        return True

    def _called(
        self, function: Callable[..., Any] | None, what: str, numbers: Numbers, arrays: Arrays, own_type: bool = False
    ) -> Arrays:
        assert function is not None
        known = {**held(self.values, numbers), **arrays}
        if own_type:
            for one in self.values:
                if one.dtype.kind == "f" and one.name in known:
                    known[one.name] = one.dtype.type(known[one.name])
        failed = "it raised"
        try:
            wanted = inspect.signature(function).parameters.values()
            open_ended = any(one.kind is one.VAR_KEYWORD for one in wanted)
            needed = [one.name for one in wanted if one.name in known or one.default is one.empty]
            names = list(known) if open_ended else needed
            if unknown := [name for name in names if name not in known]:
                raise ParameterError(f"{what}: it asks for {unknown[0]!r}; known: {', '.join(known)}")
            got = function(**{name: known[name] for name in names})
            failed = "what it returned cannot be read as arrays,"
            read = self._read(got, what)
        except ParameterError:
            raise
        except Exception as error:
            let_through(error)
            raise ParameterError(f"{what}: {failed} {type(error).__name__}: {error}") from error
        return self._results(read, what, numbers)

    def _read(self, got: Any, what: str) -> Arrays:
        """What a function returned, by the names of the results."""
        names = [one.name for one in self.results]
        if not isinstance(got, Mapping):
            if len(names) != 1:
                raise ParameterError(f"{what}: there are several results; return a dict with {', '.join(names)}")
            got = {names[0]: got}
        if set(got) != set(names):
            raise ParameterError(f"{what}: it returned {', '.join(map(str, got))}; the results are {', '.join(names)}")
        for name in names:
            if is_masked(got[name]):
                raise ParameterError(f"{what}: {name} is a masked array, and masks are ignored; return its .data")
        return {name: np.asarray(got[name]) for name in names}

    def _results(self, read: Arrays, what: str, numbers: Numbers) -> Arrays:
        found = {}
        for one in self.results:
            values, shape = read[one.name], self.shape(one, numbers)
            if values.dtype.kind not in "fiub":
                cure = f"return its real and its imaginary part as two results, or {one.name}.real"
                cure = cure if values.dtype.kind == "c" else "return real numbers"
                raise ParameterError(f"{what}: {one.name} is {values.dtype}, and arrays hold real numbers; {cure}")
            if values.size != math.prod(shape):
                raise ParameterError(
                    f"{what}: {one.name} is {values.dtype} of shape {values.shape}; its shape is {shape}"
                )
            if values.shape != shape and values.squeeze().shape != tuple(n for n in shape if n != 1):
                raise ParameterError(f"{what}: {one.name} has shape {values.shape}, but was declared {shape}")
            found[one.name] = _of_kind(values.reshape(shape), one, what)
        return found

    def bytes_of(self, numbers: Numbers) -> tuple[float, float]:
        """Bytes that a run must read and write: as declared, else each given array once and each result once."""
        sizes = {
            one.name: math.prod(self.shape(one, numbers)) * one.dtype.itemsize
            for one in self.arrays
            if one.role != "scratch"
        }
        read = float(sum(sizes[one.name] for one in self.arrays if one.is_given))
        write = float(sum(sizes[one.name] for one in self.results))
        if self.work is not None and self.work.read is not None:
            read = float(self.work.read.value(numbers))
        if self.work is not None and self.work.write is not None:
            write = float(self.work.write.value(numbers))
        return read, write

    def flops_of(self, numbers: Numbers) -> float | None:
        """Operations of a run; None where none are declared."""
        if self.work is None or self.work.flops is None:
            return None
        return float(self.work.flops.value(numbers))

    def measured_flops(self, numbers: Numbers) -> float | None:
        """The same of what is measured. Raises ParameterError where any part of the work is below 0."""
        for part in (self.work.flops, self.work.read, self.work.write) if self.work is not None else ():
            if part is not None:
                part.amount(numbers)
        return self.flops_of(numbers)


def _of_kind(values: np.ndarray, result: Array, what: str) -> np.ndarray:
    """Whole numbers for a result of whole numbers, exactly; else float64."""
    if result.dtype.kind == "f" or what == "magnitude":
        return values.astype(np.float64)
    limits = np.iinfo(result.dtype)
    if values.dtype.kind == "f" and not (np.isfinite(values) & (values == np.rint(values))).all():
        raise ParameterError(f"{what}: {result.name} is declared as {result.dtype}, but is no whole number everywhere")
    if values.size and not limits.min <= int(values.min()) <= int(values.max()) <= limits.max:
        raise ParameterError(f"{what}: {result.name} does not fit {result.dtype}; declare a larger dtype")
    return values.astype(result.dtype)
