"""Somebody else's kernel against a task that is trusted: does it compute the task, always, and how fast?

The kernel is text and data, so nothing of its author's runs on the host. References, seeds and verdicts are known here
alone; the kernel runs in a worker. On a CPU device a kernel is native code of that worker's user all the same: an
author who is not trusted at all belongs in a container or on another machine.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gpuopt._core import Device, Error, MismatchError, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.kernels import tolerances
from gpuopt.lab.kernels.binding import Code, as_bytes
from gpuopt.lab.kernels.checks import OwnChecks, WrongResultError, flat, judged
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.kernels.other_sizes import other_sizes
from gpuopt.lab.kernels.remote import RemoteMemory, RemotePlan, remote
from gpuopt.lab.kernels.source import refusals, source_of
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.stages import Launch, Rounds, Stage
from gpuopt.lab.kernels.task import Arrays, Numbers, Task
from gpuopt.lab.kernels.tolerances import audited
from gpuopt.lab.kernels.verdicts import Verdict
from gpuopt.lab.run.candidates import status_of
from gpuopt.lab.timing import statistics
from gpuopt.selection import Selector, select

Level = Literal["quick", "full", "judge"]
RUNS_ALIKE = 5
SAMPLES = 30
SCALES = (1.0, 0.125, 8.0)
ROUNDED = "inputs rounded to the next lower type"  # a wrong result that the audit tries


class TaskError(ParameterError):
    """A task whose tolerance lets wrong results through: nothing is judged by it."""


@checked
def judge(
    source: str | Path,
    task: Kernel,
    *,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
    launch: Launch | None = None,
    stages: Sequence[Any] | None = None,
    constraints: Sequence[str] = (),
    options: str = "",
    configuration: Configuration | None = None,
    device: Selector = None,
    level: str = "judge",
    seed: int | None = None,
    repeatable: bool = True,
    **sizes: Any,
) -> Verdict:
    """Judges a kernel by the task of another one: its arguments, reference, tolerance and work.

    Of the judged kernel come text, levels, launch and stages alone; what is left out is the task's own. ``level`` is
    "quick" (results over two random poisons, guards, inputs), "full" (also five runs alike, other data, other sizes,
    state kept between runs, time) or "judge" (also constructs that are refused, and seeds drawn after the text is
    fixed). ``repeatable=False``: results may differ from run to run within the tolerance. Raises TaskError for a task
    that wrong results pass, ParameterError for a declaration that does not fit.
    """
    if level not in ("quick", "full", "judge"):
        raise ParameterError(f"level: there is none called {level!r}; use quick, full or judge")
    if seed is not None and seed < 0:
        raise ParameterError(f"seed: it is {seed}; give a whole number of at least 0")
    own, chosen = task.code, select(device)
    try:
        source_of(source)
    except ParameterError as error:  # a file that it may not include
        named = Configuration(name or own.label)
        return Verdict("refused", str(error), level, named, chosen.key, (), "")
    theirs = Kernel(
        source,
        name or own.label,
        parameters={n: list(levels) for n, levels in own.space.levels.items()} if parameters is None else parameters,
        arguments=task.task.arguments,
        launch=launch,
        stages=stages if stages is not None or launch is not None else _renamed(own.stages, name),
        constraints=[c.text for c in own.space.constraints] if parameters is None else list(constraints),
        options=options or own.options,
    )
    levels = theirs.levels(configuration)
    for left in (2, 1, 0):
        first_seed = secrets.randbelow(2**31) if seed is None else seed
        trial = Trial(task.task, theirs.code, chosen, levels, dict(sizes), first_seed, level, repeatable)
        try:
            return trial.verdict()
        except TaskError:  # data that were drawn may have a sum near zero; a bad task fails with any
            if seed is not None or not left:
                raise
    raise AssertionError("unreachable")


@dataclass
class Trial:
    """One kernel under judgement; ``passed`` grows as it goes on."""

    task: Task
    code: Code
    device: Device
    levels: Levels
    sizes: dict[str, Any]
    seed: int
    level: str
    repeatable: bool = True
    passed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    at: str = ""  # sizes and seed of what runs now

    def verdict(self) -> Verdict:
        """All checks in turn, cheap ones first."""
        if self.level == "judge" and (why := refusals(self.code.source.text, self.device.type != "cpu")):
            return self._said("refused", f"{'; '.join(why)}: such kernels are not judged")
        numbers, arrays, exact, allowed = self._data(self.sizes, self.seed)
        self._audit(numbers, arrays, exact, allowed)
        try:
            plan, memory = self._plan(numbers, arrays)
            self._quick(plan, memory, exact, allowed)
            if self.level != "quick":
                self._full(plan, memory, numbers, exact, allowed)
            return self._timed(plan, memory, numbers, exact, allowed)
        except WrongResultError as error:
            return self._blamed(error, numbers, arrays, exact, allowed)
        except ParameterError:
            raise
        except (Error, MemoryError) as error:
            return self._said(status_of(error), str(error))

    def _said(self, word: str, says: str, **more: Any) -> Verdict:
        configuration = Configuration(self.code.label, **self.levels)  # type: ignore[arg-type]
        return Verdict(
            word,
            says,
            self.level,
            configuration,
            self.device.key,
            tuple(self.passed),
            "" if word in ("ok", "refused") else self.at,
            notes=tuple(self.notes),
            **more,
        )

    def _data(self, sizes: Mapping[str, Any], seed: int, scale: float = 1.0) -> tuple[Numbers, Arrays, Arrays, Arrays]:
        numbers = self.task.numbers(sizes, {}, [*self.code.space.levels])
        arrays = self.task.data(numbers, {}, seed)
        if scale != 1.0:
            free = [a for a in self.task.arrays if a.is_given and a.data is None and a.low is a.high is None]
            arrays |= {a.name: (arrays[a.name] * a.dtype.type(scale)) for a in free if a.dtype.kind == "f"}
        self.at = f"seed={seed}, " + ", ".join(f"{name}={value}" for name, value in numbers.items())
        return (numbers, arrays, *self.task.right(numbers, arrays))

    def _plan(self, numbers: Numbers, arrays: Arrays) -> tuple[RemotePlan, RemoteMemory]:
        plan = remote(self.task, self.code, self.device, self.levels, numbers, arrays)
        return plan, RemoteMemory(plan, self.task, {**numbers, **self.levels}, self._names())

    def _names(self) -> list[str]:
        return [one.name for one in self.task.results]

    # ------------------------------------------------------------ before anything runs

    def _audit(self, numbers: Numbers, arrays: Arrays, exact: Arrays, allowed: Arrays) -> None:
        """Raises TaskError where a result that is plainly wrong would pass."""
        reference, tolerance = flat(exact, self._names()), flat(allowed, self._names())
        if reference.size == 0:
            return
        finite = reference[np.isfinite(reference)]
        mean = finite.mean() if finite.size else 0
        wrong = {"zeros": np.zeros_like(reference), "the mean everywhere": np.full_like(reference, mean)}
        wrong["the result moved on by one element"] = np.roll(reference, 1)
        for one in self.task.arrays:
            if one.is_given and arrays[one.name].dtype.kind in "fiu" and arrays[one.name].size == reference.size:
                wrong[f"{one.name} itself"] = arrays[one.name].astype(np.float64).reshape(-1)
        other = self._data(self.sizes, self.seed + 1)[2]
        wrong["the result for other data"] = flat(other, self._names())
        lower, limit = self._rounded(arrays), self.task.tolerance
        if lower is not None:
            values = flat(self.task.right(numbers, lower)[0], self._names())
            rounded = {ROUNDED: values}
            if limit is None or limit.magnitude is None:
                wrong |= rounded
            elif audited(rounded, reference, tolerance) and not np.array_equal(values, reference):
                self.notes.append(f"{ROUNDED} would pass: sums of so many terms cannot tell")
        self._data(self.sizes, self.seed)
        # What equals the right result is no wrong one: a copy is its input, and the same data have the same result.
        plain = ("zeros", "the mean everywhere", "the result moved on by one element")
        same = [name for name, values in wrong.items() if name not in plain and np.array_equal(values, reference)]
        if "the result for other data" in same:
            self.notes.append("other seeds give the same result: a kernel that knows it cannot be told")
        wrong = {name: values for name, values in wrong.items() if name not in same}
        trivial = reference.size == 1 or bool((reference == reference[0]).all())
        through = audited(wrong, reference, tolerance)
        if trivial:  # one number: it is its own mean, and moved on by one element it is itself
            through = [one for one in through if one not in plain[1:]]
        if through:
            summed = ", or tolerance=lab.rounding(...) where they are summed" if through == [ROUNDED] else ""
            raise TaskError(
                f"task: {', '.join(through)} would pass within the tolerance of {self.task.name}; give a smaller "
                f"tolerance, or data that tell these from the right result{summed}"
            )
        self.passed.append("audit")

    def _rounded(self, arrays: Arrays) -> Arrays | None:
        lower = {a.name: tolerances.LOWER.get(a.dtype.name) for a in self.task.arrays if a.is_given}
        if not any(lower.values()) or all(one.dtype.kind != "f" for one in self.task.results):
            return None
        return {n: v.astype(low).astype(v.dtype) if (low := lower.get(n)) else v for n, v in arrays.items()}

    # ------------------------------------------------------------ checks

    def _quick(self, plan: RemotePlan, memory: RemoteMemory, exact: Arrays, allowed: Arrays) -> None:
        OwnChecks(memory, plan.run, plan, exact, allowed).verify()
        self.passed.append("two poisons, guards, inputs")

    def _full(self, plan: RemotePlan, memory: RemoteMemory, numbers: Numbers, exact: Arrays, allowed: Arrays) -> None:
        self._alike(plan, memory)
        self._seeds(plan, memory)
        self._state(plan, memory)
        self._sizes(numbers)

    def _alike(self, plan: RemotePlan, memory: RemoteMemory) -> None:
        """Runs over other poisons give the same bits, or differ as the task says."""
        runs = []
        for index in range(RUNS_ALIKE):
            memory.ready(10 + index)
            plan.run()
            runs.append(memory.taken())
        if not self.repeatable:
            wide = [flat(one, self._names()).astype(np.float64) for one in runs]
            with np.errstate(invalid="ignore"):
                spread = float(np.nanmax(np.ptp(wide, axis=0), initial=0.0))
            self.notes.append(
                f"runs may differ within the tolerance, as the task says; {RUNS_ALIKE} did by {spread:.2g}"
            )
            return
        for other in runs[1:]:
            for name, first in runs[0].items():
                if first.tobytes() != other[name].tobytes():
                    count = int((first != other[name]).sum())
                    raise WrongResultError(
                        "unstable", f"{count} of {first.size} elements of {name} differ from run to run"
                    )
        self.passed.append(f"{RUNS_ALIKE} runs alike")

    @property
    def _has_images(self) -> bool:
        return any(one.role == "image" for one in self.task.arrays)

    def _seeds(self, plan: RemotePlan, memory: RemoteMemory) -> None:
        """Data of other seeds and scales, one seed drawn now. Where an absolute error is allowed, sizes stay."""
        absolute = self.task.tolerance is not None and self.task.tolerance.absolute is not None
        for turn, scale in enumerate(SCALES):
            last = self.level == "judge" and turn == len(SCALES) - 1
            seed = secrets.randbelow(2**31) if last else self.seed + 200 + turn
            numbers, arrays, exact, allowed = self._data(self.sizes, seed, 1.0 if absolute else scale)
            if self._has_images:
                plan, memory = self._plan(numbers, arrays)
            else:
                memory.give({name: as_bytes(values) for name, values in arrays.items()})
            memory.ready(30 + turn)
            plan.run()
            self._held("seed", memory, exact, allowed, f"for other data (scale {scale:g})")
        self.passed.append(f"{len(SCALES)} seeds" + ("" if absolute else " and scales"))

    def _state(self, plan: RemotePlan, memory: RemoteMemory) -> None:
        """Other data in the same memory, with what the last run left in its scratch memory."""
        if self._has_images:
            self.notes.append("state between runs is not looked for where images are read: each run has new ones")
            return
        for turn in range(3):
            _, arrays, exact, allowed = self._data(self.sizes, self.seed + 100 + turn)
            memory.give({name: as_bytes(values) for name, values in arrays.items()})
            memory.ready(20 + turn, keep_scratch=True)
            plan.run()
            self._held("state", memory, exact, allowed, "after earlier runs in the same memory")
        self.passed.append("no state")

    def _sizes(self, numbers: Numbers) -> None:
        """Other sizes: one less, a prime, one, a group and one more, where the constraints admit them."""
        tried = 0
        for sizes in other_sizes(self.task, self.levels, self.sizes, numbers):
            try:  # sizes that the task itself does not take are no fault of the kernel
                if self.code.space.broken({**self.task.numbers(sizes, {}, [*self.levels]), **self.levels}) is not None:
                    continue
                made, arrays, exact, allowed = self._data(sizes, self.seed + 300 + tried)
            except ParameterError:
                continue
            plan, memory = self._plan(made, arrays)
            try:
                OwnChecks(memory, plan.run, plan, exact, allowed).verify()
            except WrongResultError as error:
                raise WrongResultError("size", f"right for the sizes given, and for others {error}") from error
            tried += 1
        self._data(self.sizes, self.seed)
        self.passed.append(f"{tried} other sizes")
        if not tried:
            self.notes.append("no other size was tried: constraints, or data of one size, leave none that is known")

    def _held(self, word: Any, memory: RemoteMemory, exact: Arrays, allowed: Arrays, when: str) -> None:
        try:
            judged(memory.taken(), exact, allowed)
        except WrongResultError as error:
            raise WrongResultError(word, f"right at first, and {when} {error}") from error

    # ------------------------------------------------------------ the end

    def _timed(
        self, plan: RemotePlan, memory: RemoteMemory, numbers: Numbers, exact: Arrays, allowed: Arrays
    ) -> Verdict:
        """Its time, with other data between samples where it is not quick, and one more look at the result."""
        restored = memory.changes_itself()
        if not self._has_images:
            _, arrays, exact, allowed = self._data(self.sizes, self.seed + 400)
            memory.give({name: as_bytes(values) for name, values in arrays.items()})
        times: list[float] = []
        for index in range(SAMPLES):
            if index % 5 == 0 or restored:
                memory.ready(50 + index, keep_scratch=True)
            times += plan.sample(1)["device_ms"]
            if index % 10 == 9 and not restored:
                self._held("after", memory, exact, allowed, "while it is timed")
        OwnChecks(memory, plan.run, plan, exact, allowed).again()
        self.passed.append("right while timed")
        found = statistics.median_ci(times)
        flags = self._flags(found.median, numbers)
        self.at = ""
        return self._said(
            "ok",
            "it computes the task",
            median_ms=found.median,
            lo_ms=found.lo if found.reached else None,
            hi_ms=found.hi if found.reached else None,
            flags=flags,
        )

    def _flags(self, median_ms: float, numbers: Numbers) -> tuple[str, ...]:
        """``impossible`` where the results alone could not be written in that time."""
        profile = profiles.stored(self.device)
        known = {} if profile is None else profile.ceilings
        rates = [one.rate for name, one in known.items() if name.startswith(("l1", "cache", "dram"))]
        ceiling = max(rates, default=None)
        if ceiling is None or median_ms <= 0:
            self.notes.append("this device has no profile, so its time is held against no bound: `gpuopt profile`")
            return ()
        written = sum(int(np.prod(self.task.shape(one, numbers))) * one.dtype.itemsize for one in self.task.results)
        return ("impossible",) if written / (median_ms * 1e-3) > 1.05 * ceiling * 1e9 else ()

    def _blamed(
        self, error: WrongResultError, numbers: Numbers, arrays: Arrays, exact: Arrays, allowed: Arrays
    ) -> Verdict:
        """What is wrong; or ``compiler``, where the same text built without optimization is right."""
        if error.word in ("inexact", "nan", "unstable") and "-cl-opt-disable" not in self.code.options:
            plain = dataclasses.replace(self.code, options=f"{self.code.options} -cl-opt-disable")
            trial = Trial(self.task, plain, self.device, self.levels, self.sizes, self.seed, "quick", self.repeatable)
            at = self.at
            try:
                plan, memory = trial._plan(numbers, arrays)
                trial._quick(plan, memory, exact, allowed)
                trial._alike(plan, memory)
                right = "built with -cl-opt-disable it is right: the compiler's fault, or undefined behaviour"
                return self._said("compiler", f"{error}; {right}")
            except (Error, MismatchError):
                self.at = at
        return self._said(error.word, str(error))


def _renamed(stages: tuple[Stage | Rounds, ...], name: str) -> list[Stage | Rounds]:
    """The task's own launch, of a kernel of another name."""
    if name and len(stages) == 1 and isinstance(stages[0], Stage):
        return [dataclasses.replace(stages[0], kernel=name)]
    return list(stages)
