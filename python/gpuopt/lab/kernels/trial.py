"""One kernel under judgement: what it is run on, in which order, and what each run is held against."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import Device, Error, ParameterError, UnsupportedError
from gpuopt.configuration import Configuration
from gpuopt.lab.device import profile as profiles
from gpuopt.lab.kernels import checks, unset
from gpuopt.lab.kernels.audits import audit
from gpuopt.lab.kernels.binding import Code, as_bytes
from gpuopt.lab.kernels.checks import OwnChecks, Right, WrongResultError, flat, judged
from gpuopt.lab.kernels.other_sizes import free_sizes, kept_values, other_sizes, other_values
from gpuopt.lab.kernels.remote import RemoteMemory, RemotePlan, remote
from gpuopt.lab.kernels.source import refusals
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Arrays, Numbers, Task
from gpuopt.lab.kernels.verdicts import Verdict
from gpuopt.lab.kernels.worker import WORKERS
from gpuopt.lab.run.candidates import status_of
from gpuopt.lab.timing import statistics
from gpuopt.signals import let_through

RUNS_ALIKE = 5
SAMPLES = 30
SCALES = (1.0, 0.125, 8.0)
CHANGES = 2  # of the data, while it is timed
LOOKS = 6  # at results, while it is timed


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
        """All checks in turn, cheap ones first. Other threads' kernels wait: one that crashes ends the process."""
        with WORKERS.lock(self.device):
            return self._verdict()

    def _verdict(self) -> Verdict:
        if self.level == "judge" and (why := self._refusals()):
            return self._said("refused", f"{'; '.join(why)}: such kernels are not judged")
        numbers, arrays, exact, allowed = self._data(self.sizes, self.seed)
        other = self._data(self.sizes, self.seed + 1)[2]
        self._data(self.sizes, self.seed)
        self.notes += audit(self.task, numbers, arrays, exact, allowed, other)
        self.passed.append("audit")
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
            let_through(error)
            return self._said(status_of(error), str(error))

    def _refusals(self) -> list[str]:
        return refusals(self.code.source.text, self.device.type != "cpu", self.code.options)

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
        scaled = "" if scale == 1.0 else f"data times {scale:g}, "
        self.at = f"seed={seed}, {scaled}" + ", ".join(f"{name}={value}" for name, value in numbers.items())
        return (numbers, arrays, *self.task.right(numbers, arrays))

    def _plan(self, numbers: Numbers, arrays: Arrays) -> tuple[RemotePlan, RemoteMemory]:
        plan = remote(self.task, self.code, self.device, self.levels, numbers, arrays)
        return plan, RemoteMemory(plan, self.task, {**numbers, **self.levels}, self._names())

    def _names(self) -> list[str]:
        return [one.name for one in self.task.results]

    # ------------------------------------------------------------ checks

    def _quick(self, plan: RemotePlan, memory: RemoteMemory, exact: Arrays, allowed: Arrays) -> None:
        OwnChecks(memory, plan.run, plan, Right(exact, allowed)).verify()
        self.passed.append("two poisons, guards, inputs")

    def _full(self, plan: RemotePlan, memory: RemoteMemory, numbers: Numbers, exact: Arrays, allowed: Arrays) -> None:
        self._alike(plan, memory, exact, allowed)
        self._seeds(plan, memory)
        self._state(plan, memory)
        self._sizes(numbers)
        self._values(numbers)

    def _alike(self, plan: RemotePlan, memory: RemoteMemory, exact: Arrays, allowed: Arrays) -> None:
        """Runs over other poisons are all right, and give the same bits, or differ as the task says."""
        runs: list[Arrays] = []
        for number in range(1, RUNS_ALIKE + 1):
            memory.ready(checks.fresh_seed())
            plan.run()
            self._held("unstable", memory, exact, allowed, f"in run {number} of {RUNS_ALIKE}")
            runs.append(memory.taken())
        if not self.repeatable:
            wide = [flat(one, self._names()).astype(np.float64) for one in runs]
            with np.errstate(invalid="ignore"):
                spread = float(np.nanmax(np.ptp(wide, axis=0), initial=0.0))  # infinities and NaN were held before
            self.notes.append(
                f"runs may differ within the tolerance, as the task says; {RUNS_ALIKE} did by {spread:.2g}"
            )
            return
        for other in runs[1:]:
            for name, first in runs[0].items():
                if first.tobytes() != other[name].tobytes():
                    count = checks.differing(first, other[name])
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
            numbers, arrays, exact, allowed = self._scaled(seed, 1.0 if absolute else scale)
            if self._has_images:
                plan, memory = self._plan(numbers, arrays)
            else:
                self._give(memory, arrays)
            memory.ready(checks.fresh_seed())
            plan.run()
            self._held("seed", memory, exact, allowed, "for other data")
        self.passed.append(f"{len(SCALES)} seeds" + ("" if absolute else " and scales"))

    def _scaled(self, seed: int, scale: float) -> tuple[Numbers, Arrays, Arrays, Arrays]:
        """Data of a scale; as they are drawn, where the task's own types do not hold the results of scaled ones."""
        if scale == 1.0:
            return self._data(self.sizes, seed)
        try:
            found = self._data(self.sizes, seed, scale)
            if self.task.holds(*found[:3]):
                return found
            why = "the types of its results do not hold them"
        except ParameterError as error:
            why = str(error)
        self.notes.append(f"data times {scale:g} were not tried: {why}")
        return self._data(self.sizes, seed)

    def _state(self, plan: RemotePlan, memory: RemoteMemory) -> None:
        """Other data in the same memory, with what the last run left in its scratch memory: over poison, over the last
        results, as a second call finds them, and over zeros, as a first call mostly does."""
        if self._has_images:
            self.notes.append("state between runs is not looked for where images are read: each run has new ones")
            return
        for turn, over in enumerate(("poison", "results", "zeros")):
            _, arrays, exact, allowed = self._data(self.sizes, self.seed + 100 + turn)
            self._give(memory, arrays)
            if over != "results":
                memory.ready(checks.fresh_seed() if over == "poison" else None, keep_scratch=True)
            plan.run()
            self._held("state", memory, exact, allowed, "after earlier runs in the same memory", plan)
        self.passed.append("no state")

    def _sizes(self, numbers: Numbers) -> None:
        """Other sizes, all of them and each alone, where the constraints admit them."""
        free = free_sizes(self.task, self.levels, numbers)
        tried, too_odd = [numbers], []
        for sizes in other_sizes(free, self.levels, self.sizes, numbers):
            try:  # sizes that the task itself does not take are no fault of the kernel
                if self.code.space.broken({**self.task.numbers(sizes, {}, [*self.levels]), **self.levels}) is not None:
                    continue
                made, arrays, exact, allowed = self._data(sizes, self.seed + 300 + len(tried))
            except ParameterError:
                continue
            try:
                plan, memory = self._plan(made, arrays)
                OwnChecks(memory, plan.run, plan, Right(exact, allowed)).verify()
            except (ParameterError, UnsupportedError) as error:  # of the launch: it does not take them
                too_odd.append(f"{self.at.partition(', ')[2]} ({error})")
                continue
            except WrongResultError as error:
                raise WrongResultError("size", f"right for the sizes given, and for others {error}") from error
            tried.append(made)
        self._data(self.sizes, self.seed)
        self.passed.append(f"{len(tried) - 1} other sizes")
        if too_odd:
            self.notes.append(f"its launch does not take {len(too_odd)} of the other sizes, such as {too_odd[0]}")
        if len(tried) == 1:
            self.notes.append("no other size was tried: constraints, or data of one size, leave none that is known")
        elif not any(len({made[name] for name in free}) == len(free) for made in tried):
            self.notes.append("the sizes were never all different: a kernel that takes one for another may be right")

    def _values(self, numbers: Numbers) -> None:
        """Other values of arguments that are numbers, each alone, where what is right follows them."""
        seed, tried = self.seed + 350, 0
        as_given = self._data(self.sizes, seed)[2]
        for name, value in other_values(self.task, self.levels, numbers):
            try:  # values that the task itself does not take are no fault of the kernel
                made, arrays, exact, allowed = self._data({**self.sizes, name: value}, seed)
                if self.code.space.broken({**made, **self.levels}) is not None:
                    continue
                if all(np.array_equal(exact[each], as_given[each], equal_nan=True) for each in exact):
                    continue
            except ParameterError:
                continue
            try:
                plan, memory = self._plan(made, arrays)
                OwnChecks(memory, plan.run, plan, Right(exact, allowed)).verify()
            except (ParameterError, UnsupportedError) as error:  # of the launch: it does not take it
                self.notes.append(f"its launch does not take another {name} ({error})")
                continue
            except WrongResultError as error:
                raise WrongResultError(
                    "value", f"right for the values given, and for another {name} {error}"
                ) from error
            tried += 1
        self._data(self.sizes, self.seed)
        kept = kept_values(self.task, self.levels, numbers)
        if tried or kept:
            self.passed.append(f"{tried} other value{'s' if tried != 1 else ''}")
        if kept:
            self.notes.append(
                f"no other value was tried of {', '.join(kept)}: 0, 1 and -1 may be flags, whole numbers of structs "
                "places"
            )

    def _give(self, memory: RemoteMemory, arrays: Arrays) -> None:
        memory.give({name: as_bytes(values) for name, values in arrays.items()})

    def _held(
        self, word: Any, memory: RemoteMemory, exact: Arrays, allowed: Arrays, when: str, plan: RemotePlan | None = None
    ) -> None:
        """Raises WrongResultError of this ``word`` where results are wrong; with a ``plan`` of the word seed, where its
        run in memory without traces of earlier ones is wrong too: then these data alone show the fault."""
        try:
            judged(memory.taken(), exact, allowed)
        except WrongResultError as error:
            if plan is not None:
                self._blame_data(plan, memory, exact, allowed)
            raise WrongResultError(word, f"right at first, and {when} {error}") from error

    def _blame_data(self, plan: RemotePlan, memory: RemoteMemory, exact: Arrays, allowed: Arrays) -> None:
        memory.ready(checks.fresh_seed())
        plan.run()
        self._held("seed", memory, exact, allowed, "for other data")

    # ------------------------------------------------------------ the end

    def _timed(
        self, plan: RemotePlan, memory: RemoteMemory, numbers: Numbers, exact: Arrays, allowed: Arrays
    ) -> Verdict:
        """Its time, and looks at its results meanwhile. Where it is not quick, each sample finds other poison, and the
        data change at samples that nobody knows: what lies there of earlier runs helps no kernel. Memory is filled
        outside of what is timed, and caches then hold the fill, not what the last run left."""
        restored, quick, chance = memory.changes_itself(), self.level == "quick", secrets.SystemRandom()
        looks = {9, 19, 29} if quick else {*chance.sample(range(SAMPLES), LOOKS)}
        changes = set() if self._has_images else {0} if quick else {0, *chance.sample(range(SAMPLES), CHANGES)}
        memory.ready(checks.fresh_seed())
        plan.sample(1)  # to be warm
        times: list[float] = []
        by_host: list[float] = []
        for index in range(SAMPLES):
            if index in changes:
                seed = secrets.randbelow(2**31) if self.level == "judge" else self.seed + 400 + index
                _, arrays, exact, allowed = self._data(self.sizes, seed)
                self._give(memory, arrays)
            if restored or not quick or index % 5 == 0:
                memory.ready(checks.fresh_seed(), keep_scratch=quick)
            taken = plan.sample(1)
            times += taken["device_ms"]
            by_host += taken["wall_ms"]
            if index in looks:
                self._held("after", memory, exact, allowed, "while it is timed", plan)
        try:
            OwnChecks(memory, plan.run, plan, Right(exact, allowed)).again()
        except WrongResultError:
            self._blame_data(plan, memory, exact, allowed)
            raise
        self.passed.append("right while timed")
        if not quick:
            told = _warnings(plan)
            self.notes += told or unset.remarks(self.code.source.text, self.code.build_options(self.levels))
        found = statistics.median_ci(times if any(times) else by_host)  # some devices' clocks show no time
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
        if ceiling is None:
            self.notes.append("this device has no profile, so its time is held against no bound: `gpuopt profile`")
        if ceiling is None or median_ms <= 0:
            return ()
        written = sum(int(np.prod(self.task.shape(one, numbers))) * one.dtype.itemsize for one in self.task.results)
        return ("impossible",) if written / (median_ms * 1e-3) > 1.05 * ceiling * 1e9 else ()

    def _blamed(
        self, error: WrongResultError, numbers: Numbers, arrays: Arrays, exact: Arrays, allowed: Arrays
    ) -> Verdict:
        """What is wrong; or ``compiler``, where it is wrong again and the same text built without optimization is
        right."""
        given = (numbers, arrays, exact, allowed)
        if error.word in ("wrong", "inexact", "nan", "unstable") and "-cl-opt-disable" not in self.code.options:
            plain = dataclasses.replace(self.code, options=f"{self.code.options} -cl-opt-disable")
            if not self._is_right(self.code, *given) and self._is_right(plain, *given):
                right = "built with -cl-opt-disable it is right: the compiler's fault, or undefined behaviour"
                return self._said("compiler", f"{error}; {right}")
        return self._said(error.word, str(error))

    def _is_right(self, code: Code, numbers: Numbers, arrays: Arrays, exact: Arrays, allowed: Arrays) -> bool:
        trial = Trial(self.task, code, self.device, self.levels, self.sizes, self.seed, "quick", self.repeatable)
        try:
            plan, memory = trial._plan(numbers, arrays)
            trial._quick(plan, memory, exact, allowed)
            trial._alike(plan, memory, exact, allowed)
        except (Error, MemoryError) as error:
            let_through(error)
            return False
        return True


def _warnings(plan: RemotePlan) -> list[str]:
    """What the compiler warned of: a variable that is never set may be right on this device alone."""
    logs = dict.fromkeys(str((plan.code(step) or {}).get("log", "")) for step in range(len(plan.kernels)))
    told = [line.strip()[:200] for log in logs for line in log.splitlines() if "warning:" in line]
    return [f"the compiler has a {told[0]}" + (f", and {len(told) - 1} more" if len(told) > 1 else "")] if told else []
