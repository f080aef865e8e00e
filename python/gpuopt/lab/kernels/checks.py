"""Whether a kernel of somebody's own computed what it should: all of its results, nothing else, and twice over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np

from gpuopt._core import DeviceArray, MismatchError
from gpuopt.lab.kernels.arguments import Array
from gpuopt.lab.timing.fields import Errors
from gpuopt.lab.timing.verification import PART, compare

Word = Literal[
    "unwritten",
    "outside",
    "inputs",
    "wrong",
    "inexact",
    "nan",
    "unstable",
    "state",
    "seed",
    "size",
    "value",
    "after",
    "compiler",
]


CLOSE = 100  # times the tolerance: errors up to there may be those of an honest sum
REPEATED = (1 << 20) + 16 * 7  # bytes drawn of a long fill: no power of two, so that no row or tile has its neighbour's
MOST_KNOWN, KNOWN_BYTES = 4, 2**28  # right results that are kept for those that are the same
FAR = 0.01  # of the results' usual size: errors up to there may be those of a narrower type


class WrongResultError(MismatchError):
    """What is wrong with a result, with the ``word`` that stands for it."""

    word: Word

    def __init__(self, word: Word, message: str) -> None:
        super().__init__(f"{word}: {message}")
        self.word = word

    def __reduce__(self) -> tuple[type[WrongResultError], tuple[Word, str]]:
        return type(self), (self.word, str(self).removeprefix(f"{self.word}: "))


@dataclass
class Memory:
    """The arrays of a plan on its device, what they hold at first, and how a run begins and is judged."""

    arrays: Mapping[str, tuple[Array, DeviceArray]]
    first: Mapping[str, np.ndarray]  # contents of what a caller brings
    results: Sequence[str]
    scrub: Callable[[int, bool], None] | None = None  # fills local memory with noise of a seed, or with its other bits
    put: Callable[[str, DeviceArray, np.ndarray], None] | None = None  # a faster ``copy_from``, of an array by its name

    def ready(self, seed: int | None, keep_scratch: bool = False, inverted: bool = False) -> None:
        """Restores what runs change, and fills results and scratch: with what :meth:`poison` gives for these, with
        zeros where ``seed`` is None. Where scratch is kept, it holds what the last run left. Local memory holds
        noise."""
        if self.scrub is not None:
            self.scrub(seed or 0, inverted)
        fill = patterns_of(self._shapes(), seed or 0, inverted)
        for name, (argument, array) in self.arrays.items():
            if argument.role == "inout":
                array.copy_from(self.first[name])
            elif name not in fill or (argument.role == "scratch" and keep_scratch):
                continue
            elif seed is None:
                array.fill_bytes(0)
            else:
                array.fill_repeated(fill[name])

    def poison(self, seed: int, inverted: bool = False) -> dict[str, np.ndarray]:
        """What results and scratch are filled with, by name; the other bits where ``inverted``."""
        return poison_of(self._shapes(), seed, inverted)

    def _shapes(self) -> Shapes:
        return {name: (one, array.shape) for name, (one, array) in self.arrays.items()}

    def give(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Other data of the same shapes, from now on."""
        self.first = {**self.first, **arrays}
        for name, values in arrays.items():
            self.arrays[name][1].copy_from(values)

    def restore(self) -> None:
        """What runs read and write, as it was."""
        for name, (argument, array) in self.arrays.items():
            if argument.role == "inout" and self.put is not None:
                self.put(name, array, self.first[name])
            elif argument.role == "inout":
                array.copy_from(self.first[name])

    def taken(self) -> dict[str, np.ndarray]:
        """The results, by name."""
        return {name: self.arrays[name][1].to_numpy() for name in self.results}

    def undisturbed(self) -> AbstractContextManager[Any]:
        """While this is held, nobody else comes between a fill, a run and its results."""
        return nullcontext()

    def check_beside(self) -> None:
        """Raises WrongResultError where something was written beside an array, or to one that is only read."""
        for name, (argument, array) in self.arrays.items():
            if not array.guards_intact():
                raise WrongResultError("outside", f"something was written beside {name}")
            only_read = argument.role in ("input", "constant") and array.nbytes
            if only_read and not _same_bytes(array.to_numpy(), self.first[name]):
                raise WrongResultError("inputs", f"{name} is an input and was changed; declare it as inout")

    def changes_itself(self, run: Callable[[], None]) -> bool:
        """Whether a second run begins with other data than the first: then each timed run needs them restored."""
        changing = [name for name, (argument, _) in self.arrays.items() if argument.role == "inout"]
        if not changing:
            return False
        self.ready(fresh_seed())
        run()
        once = [self.arrays[name][1].to_numpy() for name in changing]
        self.restore()
        return not all(_same_bytes(got, self.first[name]) for got, name in zip(once, changing, strict=True))


@dataclass
class Right:
    """The results in fp64 and what is allowed for each of their elements. A result of the same bytes as one that was
    held against them is as right, and is not held against them again: versions of a kernel often give the same."""

    exact: Mapping[str, np.ndarray]
    allowed: Mapping[str, np.ndarray]
    known: list[tuple[dict[str, np.ndarray], Errors]] = field(default_factory=list)  # right results, the latest last

    def errors(self, taken: dict[str, np.ndarray]) -> Errors:
        """As :func:`judged`, which see."""
        for held, errors in self.known:
            if _alike(held, taken):
                return errors
        errors = judged(taken, self.exact, self.allowed)
        nbytes = sum(array.nbytes for array in taken.values())
        self.known.append((taken, errors))
        del self.known[: max(0, len(self.known) - min(MOST_KNOWN, KNOWN_BYTES // max(1, nbytes)))]
        return errors


def _alike(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    """Whether all results hold the same bytes."""
    return all(_same_bytes(a[name], b[name]) for name in a)


@dataclass
class OwnChecks:
    """The checks of one plan against one problem's results; what a sweep asks for."""

    memory: Any  # a Memory, or what stands for one in another process
    run: Callable[[], None]
    sample: Any  # the plan that is timed
    right: Right

    def verify(self, reference: np.ndarray | None = None, tolerance: np.ndarray | None = None) -> Errors:
        """Two runs, over random poison and over its inverse, each held against the reference: what is not written is
        its poison in both, and nothing else can be. Raises WrongResultError."""
        seed = fresh_seed()
        first, second = found = [self._over(seed, inverted) for inverted in (False, True)]
        if _alike(first, second):  # all was written: no byte is that of the poison and of its inverse
            return self.right.errors(first)
        poisons = [self.memory.poison(seed, inverted) for inverted in (False, True)]
        self._check_written(list(zip(poisons, found, strict=True)))
        self.right.errors(first)
        return self.right.errors(second)

    def again(self, reference: np.ndarray | None = None, tolerance: np.ndarray | None = None) -> None:
        """One sample over poison after timing. Raises WrongResultError."""
        try:
            with self.memory.undisturbed():
                self.memory.ready(fresh_seed())
                self.sample.sample(1)
                self.memory.check_beside()
                taken = self.memory.taken()
            self.right.errors(taken)
        except WrongResultError as error:
            raise WrongResultError("after", f"right before it was timed, and then {error}") from error

    def _over(self, seed: int, inverted: bool) -> dict[str, np.ndarray]:
        """The results of a run over poison."""
        with self.memory.undisturbed():
            self.memory.ready(seed, inverted=inverted)
            self.run()
            self.memory.check_beside()
            return dict(self.memory.taken())

    def _check_written(self, found: Sequence[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]) -> None:
        for name in self.memory.results:
            if name not in found[0][0]:
                continue
            same = np.ones(found[0][1][name].shape, dtype=bool)
            for poison, taken in found:
                same &= _equal_bits(poison[name], taken[name])
            if (count := int(same.sum())) > 0:
                at = tuple(int(i) for i in np.argwhere(same)[0])
                raise WrongResultError(
                    "unwritten", f"{count} of {same.size} elements of {name} were not written, the first at {at}"
                )


def judged(
    taken: Mapping[str, np.ndarray], exact: Mapping[str, np.ndarray], allowed: Mapping[str, np.ndarray]
) -> Errors:
    """The errors of the results; of several, each number is the largest.

    Raises WrongResultError: nan, where a reference is finite and its result is not; wrong, where errors are far from
    what rounding makes, or infinite; else inexact. Whole numbers are compared as such.
    """
    found = [dict[str, Any](_judged(name, taken[name], exact[name], allowed[name])) for name in exact]
    return cast("Errors", {name: max(errors[name] for errors in found) for name in Errors.__annotations__})


def _judged(name: str, result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> Errors:
    try:
        if result.dtype.kind in "iu" and result.dtype == reference.dtype and not tolerance.any():
            if (wrong := int((result != reference).sum())) > 0:
                at = tuple(int(i) for i in np.argwhere(result != reference)[0])
                raise MismatchError(
                    f"{wrong} of {result.size} elements are off; the first, {at}, is {result[at]}, not {reference[at]}"
                )
            return Errors(max_abs=0.0, max_rel=0.0, max_ulp=0.0, max_of_tol=0.0, l2_rel=0.0, tol=0.0)
        return compare(result, reference, tolerance)
    except MismatchError as error:
        word, hint = _wrong(result, reference, tolerance)
        raise WrongResultError(word, f"{name}: {error}{hint}") from error


def _wrong(result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> tuple[Word, str]:
    """The word for a result that is off, and what the author of a task may do about errors that rounding can make."""
    if result.dtype.kind != "f":
        return "wrong", ""
    finite = np.isfinite(reference)
    if bool((~np.isfinite(result) & finite).any()):
        return "nan", ""
    if not np.array_equal(result[~finite], reference[~finite], equal_nan=True):
        return "wrong", ""
    with np.errstate(all="ignore"):
        error = np.abs(result.astype(np.float64) - reference)[finite]
        most = float((error / np.maximum(np.broadcast_to(tolerance, finite.shape)[finite], 1e-300)).max(initial=0.0))
        sizes = np.abs(reference[finite].astype(np.float64))
        largest = float(sizes.max(initial=0.0))
        usual = largest * float(np.sqrt(np.mean(np.square(sizes / largest)))) if largest else 0.0  # squares fit float64
    if most <= CLOSE:
        hint = "; long sums in another order cost so much: where the task has them, give tolerance=lab.rounding(...)"
        return "inexact", hint
    return ("wrong" if float(error.max(initial=0.0)) > FAR * usual else "inexact"), ""


def flat(arrays: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """Arrays in one row; of several dtypes in the one that holds them all. One array is not copied."""
    if len(names) == 1:
        return arrays[names[0]].reshape(-1)
    return np.concatenate([arrays[name].reshape(-1) for name in names])


def fresh_seed() -> int:
    """A seed that nobody can know: no text can hold what memory will be filled with."""
    return secrets.randbits(64)


Shapes = Mapping[str, tuple[Array, Sequence[int]]]  # of arrays, by name


def poison_of(arrays: Shapes, seed: int, inverted: bool = False) -> dict[str, np.ndarray]:
    """Random bytes for the results and the scratch among some arrays, by name; the same in any process."""
    filled = patterns_of(arrays, seed, inverted)
    return {name: _repeated(pattern, arrays[name][0].dtype, arrays[name][1]) for name, pattern in filled.items()}


def patterns_of(arrays: Shapes, seed: int, inverted: bool = False) -> dict[str, np.ndarray]:
    """The bytes that poison is the repetition of, by name."""
    random, patterns = np.random.default_rng(seed), {}
    for name, (one, shape) in arrays.items():
        if one.role in ("output", "scratch") and 0 not in shape:
            patterns[name] = _pattern(_nbytes(shape, one.dtype), random, inverted)
    return patterns


def _nbytes(shape: Sequence[int], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape, dtype=np.int64)) * dtype.itemsize


def _pattern(nbytes: int, random: np.random.Generator, inverted: bool) -> np.ndarray:
    drawn = np.frombuffer(random.bytes(min(nbytes, REPEATED)), dtype=np.uint8)
    return ~drawn if inverted else drawn


def _repeated(pattern: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray:
    return np.resize(pattern, _nbytes(shape, dtype)).view(dtype).reshape(tuple(shape))


def _same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays hold the same bytes, eight at a time, as far as they do."""
    one, other = (np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (a, b))
    if one.size != other.size:
        return False
    words = one.size // 8 * 8
    eights = [each[:words].view(np.uint64) for each in (one, other)]
    parts = (slice(start, start + PART) for start in range(0, words // 8, PART))
    return all(np.array_equal(eights[0][part], eights[1][part]) for part in parts) and np.array_equal(
        one[words:], other[words:]
    )


def differing(a: np.ndarray, b: np.ndarray) -> int:
    """In how many elements two results differ, to the bit."""
    return int(np.count_nonzero(~_equal_bits(a, b)))


def _equal_bits(a: np.ndarray, b: np.ndarray) -> Any:
    word = np.dtype(f"u{a.dtype.itemsize}")
    return a.view(word) == b.view(word)
