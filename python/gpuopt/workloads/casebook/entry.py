"""The record of an entry: a bug and its fixes, what they are predicted to do, and what the paper says of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, Error, ParameterError
from gpuopt.checked import checked, unsupported
from gpuopt.configuration import Configuration, table_of
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.problem import Problem
from gpuopt.signals import let_through
from gpuopt.workloads.casebook.programs import call_name, whole_call

Category = Literal["A", "B", "C", "D", "E", "F"]
Provenance = Literal["src", "fig", "rec"]
Kind = Literal["bug", "fix", "flag", "trap", "control", "wrong"]
DeviceClass = Literal["gpu_fast_fp64", "gpu_slow_fp64", "cpu"]
Word = Literal["FAST", "SLOW", "SAME"]
Level = Literal["kernel", "program"]
Sizes = Mapping[str, Any]

CATEGORIES: dict[Category, str] = {
    "A": "data types and access patterns in global memory",
    "B": "shapes of work-groups",
    "C": "portability between devices",
    "D": "constant memory and textures",
    "E": "function specialization",
    "F": "floating-point arithmetic",
}
PROVENANCES: dict[Provenance, str] = {
    "src": "the project's source was read, and the kernels written anew",
    "fig": "after a figure of the paper (Yang et al. 2012)",
    "rec": "reconstructed from the paper's words",
}
KINDS: dict[Kind, str] = {
    "bug": "what the project did",
    "fix": "the fix",
    "flag": "the bug's own text, built with an option of the compiler",
    "trap": "a change that looks like a fix and is predicted to be none",
    "control": "a change that removes what a rule of thumb forbids, and is predicted to gain nothing",
    "wrong": "as it is printed, which computes something else: no time is told of it",
}
DEVICE_CLASSES: tuple[DeviceClass, ...] = get_args(DeviceClass)


@checked
@dataclass(frozen=True)
class Prediction:
    """What a version does to the bug's time, FAST, SLOW or SAME, and why, in a sentence."""

    word: Word
    why: str


Predictions = Mapping[DeviceClass, Prediction]


def fast(why: str) -> Prediction:
    """Faster than the bug."""
    return Prediction("FAST", why)


def slow(why: str) -> Prediction:
    """Slower than the bug."""
    return Prediction("SLOW", why)


def same(why: str) -> Prediction:
    """As fast as the bug, within 5 %."""
    return Prediction("SAME", why)


@checked
@dataclass(frozen=True)
class PaperGain:
    """How many times as fast the paper found a fix on a device, from ``low`` to ``high``: of the kernel alone, or of
    the whole program. The two are never compared with each other."""

    device: str
    low: float
    high: float
    level: Level = "kernel"

    def __str__(self) -> str:
        several = "" if self.low == self.high else f"{self.low:g} to "
        return f"{several}{self.high:g}x on {self.device}{' (program)' if self.level == 'program' else ''}"


def gain(device: str, low: float, high: float | None = None, level: Level = "kernel") -> PaperGain:
    """A figure of the paper: ``gain("GTX 480", 3.46)``, or with a range ``gain("GTX 480", 1.61, 5.0)``."""
    return PaperGain(device, low, low if high is None else high, level)


@checked
@dataclass(frozen=True)
class Version:
    """The bug, or something that was done about it.

    kind, summary
        What it is to the bug (``KINDS``), and its idea in a line.
    of
        A kernel of the casebook, or a configuration of a workload that gpuopt has.
    path
        The kernel's file below ``kernels/``; empty for a configuration, whose variant has one.
    predicted, paper
        By class of device what it does to the bug's time, and the paper's figures; of all versions but the bug and
        what is wrong.
    alone
        Whether it is a kernel for which a program would have to make data first: its whole call is not told.
    """

    kind: Kind
    summary: str
    of: Kernel | Configuration
    path: str = ""
    predicted: Predictions = field(default_factory=dict)
    paper: Sequence[PaperGain] = ()
    alone: bool = False

    @property
    def name(self) -> str:
        """What tables of the lab call it."""
        return self.of.name if isinstance(self.of, Kernel) else str(self.of)

    def configuration(self, sizes: Sizes) -> Configuration:
        """What a sweep runs at these sizes and values, of which it needs all that its constraints name: of a kernel's
        levels the first that these admit."""
        if isinstance(self.of, Configuration):
            return self.of
        return Configuration(self.of.name, **self.of.code.space.standard(sizes))  # type: ignore[arg-type]

    def text(self, workload: str) -> str:
        """Its own file for a reader: without what that includes, and without the comment at the top."""
        path = table_of(workload)[self.of.variant].source if isinstance(self.of, Configuration) else self.path
        lines, file = [], ""
        for line in _core.kernel_source(path).splitlines():
            if line.startswith("#line "):
                file = line.split('"')[1]
            elif file == path:
                lines.append(line)
        return "\n".join(itertools.dropwhile(lambda line: line.startswith("//"), lines))


def own(
    kind: Kind,
    path: str,
    summary: str,
    *,
    name: str = "",
    predicted: Predictions | None = None,
    paper: Sequence[PaperGain] = (),
    alone: bool = False,
    **declared: Any,
) -> Version:
    """A kernel of the casebook: ``own("fix", "row_sum/tiled", ...)`` is ``kernels/casebook/row_sum/tiled.cl``, whose
    function is ``row_sum_tiled``. ``name`` calls it otherwise, where several versions are of one file; ``declared`` is
    what :class:`gpuopt.lab.Kernel` takes."""
    file = f"casebook/{path}.cl"
    kernel = Kernel(_core.kernel_source(file), name or path.replace("/", "_"), **declared)
    return Version(kind, summary, kernel, file, predicted or {}, paper, alone)


def built_in(
    kind: Kind,
    configuration: Configuration,
    summary: str,
    *,
    predicted: Predictions | None = None,
    paper: Sequence[PaperGain] = (),
) -> Version:
    """A configuration of a workload that gpuopt has; its entry says by ``problem`` on which data."""
    return Version(kind, summary, configuration, "", predicted or {}, paper)


@checked
@dataclass(frozen=True)
class Story:
    """An entry in short sentences: what the project did, what is slow about it, the fix, and what to look for in
    one's own code."""

    did: str
    slow: str
    fix: str
    look_for: str


@checked
@dataclass(frozen=True)
class Entry:
    """One case. Raises ParameterError where a field holds something else.

    id, name, title, project
        Such as "A2"; the folder's name; what it is about; whose code had the bug.
    category, provenance
        See ``CATEGORIES``; where our kernels are from, see ``PROVENANCES``.
    versions
        The bug, then the others. Of kernels of the casebook, data, reference, tolerance and declared work are the
        bug's own.
    sizes, quick, awkward
        Sizes and values of the problem: in full; of a quick run on a CPU, a few milliseconds on two cores; and small
        ones that no work-group divides.
    explains
        The resource that explains the difference, in a few words.
    exactness
        How far results may be from the reference, and why, in a sentence.
    story, slips
        For people; and what the paper says twice in different ways, or wrongly.
    problem
        ``problem(**sizes)``, of a workload that gpuopt has.
    data
        ``data(**sizes)`` returns arrays by name, of kernels whose data are not just drawn.
    needs_fp64
        Whether the bug computes in doubles although none of its arguments does.
    program
        Of a program, what its whole call does around the kernels, in a few words: whole calls are measured too, from
        arrays of the host to arrays of the host, and told apart from kernels. Empty where kernels are all.
    """

    id: str
    name: str
    title: str
    project: str
    category: Category
    provenance: Sequence[Provenance]
    versions: Sequence[Version]
    sizes: Sizes
    quick: Sizes
    awkward: Sizes
    explains: str
    exactness: str
    story: Story
    slips: Sequence[str] = ()
    problem: Callable[..., Problem] | None = None
    data: Callable[..., Mapping[str, np.ndarray]] | None = None
    needs_fp64: bool = False
    program: str = ""

    def __post_init__(self) -> None:
        kinds = [each.kind for each in self.versions]
        if len(kinds) < 2 or kinds[0] != "bug" or "bug" in kinds[1:]:
            raise ParameterError(f"versions: {self.id} has {', '.join(kinds) or 'none'}; give the bug, then the others")

    @property
    def bug(self) -> Version:
        """What the others are held against."""
        return self.versions[0]

    @property
    def others(self) -> Sequence[Version]:
        """What was done about it."""
        return self.versions[1:]

    def sizes_for(self, device: Device, quick: bool) -> Sizes:
        """The sizes of a run on a device. A GPU always gets the full ones: small ones would show launches alone."""
        return self.quick if quick and device.type == "cpu" else self.sizes

    def check(self, device: Device) -> None:
        """Raises UnsupportedError where the device lacks what the bug needs."""
        if self.needs_fp64 and not device.fp64:
            raise unsupported(f"the bug computes in doubles, and {device.name} has none", "device")

    def problem_of(self, sizes: Sizes) -> Problem:
        """Data, reference and all versions at these sizes, for :func:`gpuopt.lab.sweep`. Raises what making a problem
        raises, and ParameterError for an error of the entry's own functions."""
        if self.problem is not None:
            if not isinstance(given := _called("problem", self.problem, sizes), Problem):
                raise ParameterError(f"problem: {self.id} returns a {type(given).__name__}; return a Problem")
            return given
        if not isinstance(self.bug.of, Kernel):
            raise ParameterError(f"problem: {self.id} is of a workload's configurations; give the function of its data")
        versions, data = [each.of for each in self.others], self._data_of(sizes)
        made = self.bug.of.problem(versions=versions, data=data, **sizes)
        given = {**made.inputs, **self.numbers(sizes)}
        calls = {
            call_name(each.name): whole_call(each.of, given)
            for each in self.versions
            if self.program and not each.alone and isinstance(each.of, Kernel)
        }
        return replace(made, calls=calls)

    def configurations(self, sizes: Sizes) -> list[Configuration]:
        """What a sweep compares at these sizes, the bug first."""
        numbers = self.numbers(sizes)
        return [each.configuration(numbers) for each in self.versions]

    def numbers(self, sizes: Sizes) -> Sizes:
        """Sizes and values of the problem: ``sizes``, what the data's lengths tell, and the defaults of the bug's
        values. Raises ParameterError as ``problem_of`` does."""
        if self.problem is not None or not isinstance(self.bug.of, Kernel):
            return sizes
        task, levels = self.bug.of.task, [*self.bug.of.code.space.levels]
        told = all(name in sizes for name in task.sizes_wanted(levels))
        return task.numbers(sizes, {} if told else self._data_of(sizes), levels)

    def _data_of(self, sizes: Sizes) -> Mapping[str, np.ndarray]:
        return _called("data", self.data, sizes) if self.data else {}


def _called(name: str, function: Callable[..., Any], sizes: Sizes) -> Any:
    """What a function of an entry returns at these sizes."""
    try:
        return function(**sizes)
    except (Error, MemoryError):
        raise
    except Exception as error:
        let_through(error)
        raise ParameterError(f"{name}: it raised {type(error).__name__}: {error}") from error
