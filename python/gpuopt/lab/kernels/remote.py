"""A plan in a worker's process, seen as one of this process: what a sweep runs, samples and checks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, DeviceArray, Error, ParameterError
from gpuopt.lab.kernels import binding, recipe
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.checks import poison_of
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Arrays, Numbers, Task
from gpuopt.lab.kernels.worker import (
    WORKERS,
    ContextLostError,
    KernelCrashError,
    KernelTimeoutError,
    Worker,
    WorkerLostError,
)

BUILD_S = 60.0
FIRST_S = 30.0  # of a run of which nothing is known
LEAST_S = 5.0
MOVING_S = 60.0
SLOWER = 20  # times what was seen before
_numbers = itertools.count(1)


@dataclass
class RemotePlan:
    """A kernel's plan in the worker of a device, loaded again where another worker has taken its place.

    Once it crashed or hung, or its worker was lost, it raises that error again and is not tried any more.
    """

    device: Device
    recipe: recipe.Recipe
    arrays: Arrays
    limit_s: float | None = None  # of a run of which nothing is known; None: FIRST_S
    declared: bool = False  # whether the declaration is known to fit
    number: int = field(default_factory=lambda: next(_numbers))
    generation: int = 0
    ran: int = 0  # in which generation it ran last; 0: never
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None  # of the slowest run so far
    ended: Error | None = None

    def worker(self) -> Worker:
        """The worker, with this plan in it. Raises what building raises. Call it under the device's lock."""
        if _core.is_recording():
            raise ParameterError(
                "call: its kernels run in a process of their own, where nothing is recorded; call the kernel itself, "
                "or make its problem with isolated=False"
            )
        if self.ended is not None:
            raise self.ended
        worker = WORKERS.of(self.device, self.generation)
        if self.generation != WORKERS.generation[self.device.index]:
            asked = {"do": "load", "plan": self.number, "recipe": self.recipe, "declared": self.declared}
            limit = BUILD_S + self.moving_s
            try:
                self.facts = self._asked(worker, asked, limit, "the build", self.arrays)[0]
            except ContextLostError:
                if worker.loaded == 0:  # no kernel ran there before
                    raise
                self.ended = None
                worker = WORKERS.of(self.device)  # another plan's kernel had ended the context, unnoticed
                self.facts = self._asked(worker, asked, limit, "the build", self.arrays)[0]
            self.generation = WORKERS.generation[self.device.index]
            worker.loaded += 1
        return worker

    @property
    def moving_s(self) -> float:
        """What filling and reading its memory may take: 10 MB/s, and a minute more."""
        return MOVING_S + 1e-7 * sum(array.nbytes for array in self.arrays.values())

    def ask(self, does: str, phase: str, runs: int = 0, **more: Any) -> tuple[Any, dict[str, np.ndarray]]:
        """An answer of the worker about this plan; ``runs`` is how often the kernels run for it."""
        arrays = more.pop("arrays", None)
        with WORKERS.lock(self.device):
            worker = self.worker()
            if does == "take" and self.ran not in (0, self.generation):
                raise Error("output: another kernel ended the process that it lay in since this one ran; run it again")
            limit = FIRST_S if self.limit_s is None else self.limit_s
            if self.seconds is not None:
                limit = LEAST_S + SLOWER * self.seconds * max(1, runs)
            limit = limit if runs else self.moving_s
            if more.get("restored"):  # before each sample
                limit += self.moving_s * more["count"]
            if does == "changes":  # fills, reads and restores beside its run
                limit += self.moving_s
            if runs:
                self.ran = self.generation
            return self._asked(worker, {"do": does, "plan": self.number, **more}, limit, phase, arrays)

    def known(self) -> dict[str, Any]:
        """What the worker told when it loaded the plan."""
        if not self.facts:
            with WORKERS.lock(self.device):
                self.worker()
        return self.facts

    def _asked(
        self, worker: Worker, asked: Mapping[str, Any], limit_s: float, phase: str, arrays: Arrays | None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        try:
            return worker.ask(asked, limit_s, phase, arrays)
        except (KernelCrashError, KernelTimeoutError, WorkerLostError) as error:
            self.ended = error
            raise

    def __del__(self) -> None:
        WORKERS.forget(self.device, self.generation, self.number)

    # ------------------------------------------------------------ as a plan of the core

    def run(self) -> None:
        """Runs it once."""
        self.ask("run", "a run", 1)

    def repeat(self, count: int) -> None:
        """Runs it so often, back to back."""
        self.ask("repeat", "runs", count, count=count)

    def sample(
        self, count: int, batch: int = 1, period: bool = False, restored: bool = False
    ) -> dict[str, list[float]]:
        """Samples, as the core's plans take them; where ``restored``, each after its memory was restored."""
        got: dict[str, list[float]] = self.ask(
            "sample", "a timed run", count * (batch + 1), count=count, batch=batch, period=period, restored=restored
        )[0]
        if got["wall_ms"]:
            self.seconds = max(self.seconds or 0.0, max(got["wall_ms"]) * 1e-3)
        return got

    def host_times(self, count: int, restored: bool = False) -> tuple[list[float], list[float]]:
        """So many runs by the clock of the worker's host, which is this one's: ms, and when each began; where
        ``restored``, each after its memory was restored."""
        times, starts = self.ask("host", "a timed run", count, count=count, restored=restored)[0]
        self.seconds = max(self.seconds or 0.0, max(times, default=0.0) * 1e-3)
        return times, starts

    def relocate(self, pad_bytes: int) -> bool:
        """Moves its memory."""
        return bool(self.ask("relocate", "a move", pad_bytes=pad_bytes)[0])

    @property
    def work(self) -> dict[str, Any]:
        """Its declared work."""
        found: dict[str, Any] = self.known()["work"]
        return found

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """Its steps."""
        found: list[dict[str, Any]] = self.known()["kernels"]
        return found

    def code(self, step: int) -> dict[str, Any] | None:
        """What a step's kernel was built from, and its program."""
        told, back = self.ask("code", "reading a program", step=step)
        return None if told is None else {**told, "binary": back["binary"].tobytes()}

    @property
    def main_step(self) -> int:
        """Which of them carries the kernel."""
        return int(self.known()["main_step"])

    @property
    def source(self) -> DeviceArray | None:
        """Its memory is another process's."""
        return None


@dataclass
class RemoteMemory:
    """The memory of a remote plan, as :class:`gpuopt.lab.kernels.checks.Memory` is that of one of this process. What is
    poison and what is right is known here alone."""

    plan: RemotePlan
    task: Task
    known: Mapping[str, Any]
    results: Sequence[str]

    def give(self, arrays: Arrays) -> None:
        """Other data of the same shapes, from now on."""
        self.plan.arrays = {**self.plan.arrays, **arrays}
        self.plan.ask("give", "filling its memory", arrays=arrays)

    def ready(self, seed: int | None, keep_scratch: bool = False, inverted: bool = False) -> None:
        """Restores and fills. The worker is told the seed of this one fill, and knows none of the next."""
        self.plan.ask("ready", "filling its memory", seed=seed, keep_scratch=keep_scratch, inverted=inverted)

    def poison(self, seed: int, inverted: bool = False) -> dict[str, np.ndarray]:
        """What results and scratch are filled with, drawn as the worker does."""
        shapes = {one.name: (one, self.task.shape(one, self.known)) for one in self.task.arrays}
        return poison_of(shapes, seed, inverted)

    def restore(self) -> None:
        """What runs read and write, as it was."""
        self.plan.ask("restore", "restoring its memory")

    def undisturbed(self) -> AbstractContextManager[Any]:
        """While this is held, no other thread comes between a fill, a run and its results: another kernel may end the
        process that they lie in."""
        lock: AbstractContextManager[Any] = WORKERS.lock(self.plan.device)
        return lock

    def check_beside(self) -> None:
        """The worker looks when results are taken."""

    def taken(self) -> dict[str, np.ndarray]:
        """The results. Raises WrongResultError where something else was written."""
        return self.plan.ask("take", "reading its results")[1]

    def changes_itself(self) -> bool:
        """Whether a second run begins with other data than the first."""
        if not any(one.role == "inout" for one in self.task.arrays):
            return False
        return bool(self.plan.ask("changes", "a run", 1)[0])


@dataclass
class Restore:
    """Restores the memory of a remote plan before a timed run; several samples take one question."""

    plan: RemotePlan

    def __call__(self) -> None:
        self.plan.ask("restore", "restoring its memory")

    def sample(self, count: int) -> dict[str, list[float]]:
        """So many samples of single runs, each of restored memory."""
        return self.plan.sample(count, restored=True)

    def host_times(self, count: int) -> tuple[list[float], list[float]]:
        """So many single runs by the host's clock, each of restored memory."""
        return self.plan.host_times(count, restored=True)


def remote(
    task: Task,
    code: Code,
    device: Device,
    levels: Levels,
    numbers: Numbers,
    arrays: Arrays,
    limit_s: float | None = None,
) -> RemotePlan:
    """The plan, built and bound in the device's worker. Raises as :func:`gpuopt.lab.kernels.binding.plan`, and
    KernelTimeoutError and KernelCrashError."""
    known = binding.is_declared(task, code, device, levels)
    made = RemotePlan(device, recipe.written(task, code, levels, numbers), arrays, limit_s, known)
    made.known()
    binding.declared(task, code, device, levels)
    return made
