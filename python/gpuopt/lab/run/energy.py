"""The energy of a run: loops of runs back to back beside a meter, and the idle device before and after.

A loop's start is discarded until the power is steady: caches, clocks and voltages settle, and on an H200 the first
second would lower the power of a loop of 6 s by a sixth. What is left begins and ends at a step of the meter's counter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from gpuopt._core import Device, ParameterError
from gpuopt.checked import unsupported
from gpuopt.lab.device.conditions import other_gpu_processes
from gpuopt.lab.device.energy import Meter, MeterError, meter_of
from gpuopt.lab.rows.energies import doubts, is_ranked, of_loops
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import Row, resume_key
from gpuopt.lab.run.candidates import Candidate, failure, may_fail
from gpuopt.lab.timing import samplers
from gpuopt.progress import Bar

STEADY = 0.02  # what the power of two windows one after the other may differ by
Objective = Literal["time", "energy"]  # of what a search finds the least

LOOK_S = 0.005  # between two looks at the counter
STUCK_STEPS, STUCK_S = 20, 2.0  # a counter that does not move for so many of its intervals, and so long, stands still


@dataclass(frozen=True)
class Lengths:
    """How long it takes. Seconds: of the idle device; of a loop, which also has ``steps`` steps of the counter at
    least; discarded at its start, at least and at most; of a window in which power is told to be steady; of runs
    between two looks at the clock; between two samples of the instant power. ``loops`` is how many are taken."""

    idle_s: float = 5.0
    loop_s: float = 5.0
    steps: int = 20
    settle_s: float = 1.0
    settle_cap_s: float = 5.0
    window_s: float = 0.5
    section_s: float = 0.1
    power_s: float = 0.1
    loops: int = 2


LENGTHS = Lengths()


class Clock(Protocol):
    """Time, which tests let pass as they like."""

    def now(self) -> float:
        """Seconds."""

    def sleep(self, seconds: float) -> None:
        """Lets them pass."""

    def looking(self, look: Callable[[], None], every_s: float) -> Any:
        """A context within which ``look`` is called so often, beside what the caller does."""


class HostClock:
    """The host's own; it looks in a thread that ends with the context."""

    def now(self) -> float:
        return time.perf_counter()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    @contextmanager
    def looking(self, look: Callable[[], None], every_s: float) -> Iterator[None]:
        over = threading.Event()

        def looks() -> None:
            while not over.wait(every_s):
                look()

        thread = threading.Thread(target=looks, name="gpuopt-energy", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(timeout=0.5)


@dataclass
class Readings:
    """What a meter told so far: its counter at each of its steps, its instant power, and the error that ended it.
    Times are the clock's."""

    meter: Meter
    clock: Clock
    power_s: float
    steps: list[tuple[float, float]] = field(default_factory=list)
    powers: list[tuple[float, float]] = field(default_factory=list)
    error: MeterError | None = None
    _last: tuple[float, float] | None = None  # when the counter moved last, or the first reading, which is no step

    def look(self) -> None:
        """Reads the counter, and now and then the power; never raises."""
        if self.error is not None:
            return
        try:
            self._read()
        except MeterError as error:
            self.error = error
        except Exception as error:  # in a thread: a meter that fails in any other way must not go unheard
            self.error = MeterError(f"the meter {self.meter.source} failed: {type(error).__name__}: {error}")

    def _read(self) -> None:
        joules, now = self.meter.joules(), self.clock.now()
        if self._last is None:
            self._last = now, joules
        moved_s, before = self._last
        if joules < before:
            raise MeterError(
                f"the counter of {self.meter.source} went backwards, from {before:.3f} J to {joules:.3f} J"
            )
        if joules > before:
            self._last = now, joules
            self.steps.append(self._last)
        elif now - moved_s > max(STUCK_S, STUCK_STEPS * self.meter.interval_s):
            raise MeterError(f"the counter of {self.meter.source} stood still for {now - moved_s:.1f} s")
        if not self.powers or now - self.powers[-1][0] >= self.power_s:
            watts = self.meter.watts()
            if watts is not None:
                self.powers.append((now, watts))


@dataclass(frozen=True)
class Loop:
    """What was measured from one step of the counter to another; ``power_j`` is None for a meter of no instant power,
    ``steady`` whether the power was so before."""

    seconds: float
    joules: float
    runs: float
    power_j: float | None
    steady: bool

    @property
    def watts(self) -> float:
        return self.joules / self.seconds


def loop(meter: Meter, clock: Clock, lengths: Lengths, seconds: float, section: Callable[[], int]) -> Loop:
    """Calls ``section``, which takes a moment and returns how many runs it made, until the counter has been seen for so
    many seconds of steady power. Raises MeterError, and what ``section`` raises."""
    readings = Readings(meter, clock, lengths.power_s)
    meter.begin()
    readings.look()
    began, ends, runs = clock.now(), [clock.now()], [0]
    first, steady = None, False
    with clock.looking(readings.look, LOOK_S):
        while True:
            made = section()
            ends.append(clock.now())
            runs.append(runs[-1] + made)
            if readings.error is not None:
                raise readings.error
            steps = [step for step in list(readings.steps) if step[0] <= ends[-1]]
            if first is None:
                first, steady = _settled(steps, began, lengths)
            seen = [] if first is None else steps[first:]
            if len(seen) > lengths.steps and seen[-1][0] - seen[0][0] >= seconds:
                break
    (start, before), (end, after) = seen[0], seen[-1]
    counted = np.interp([start, end], ends, runs)
    power_j = _integral(list(readings.powers), start, end)
    return Loop(end - start, after - before, float(counted[1] - counted[0]), power_j, steady)


def _settled(steps: Sequence[tuple[float, float]], began: float, lengths: Lengths) -> tuple[int | None, bool]:
    """The first step before which the power was steady, None where it is not there yet; and whether it was, for two
    windows one after the other told the same: what is not steady in time is taken as it is."""
    times = np.array([at for at, _ in steps])
    joules = np.array([counted for _, counted in steps])
    for number, at in enumerate(times):
        if at - began < lengths.settle_s:
            continue
        middle, start = np.searchsorted(times, [at - lengths.window_s, at - 2 * lengths.window_s], "right") - 1
        if start >= 0 and number > middle > start:
            now = (joules[number] - joules[middle]) / (at - times[middle])
            then = (joules[middle] - joules[start]) / (times[middle] - times[start])
            if abs(now - then) <= STEADY * max(now, then):
                return number, True
        if at - began >= lengths.settle_cap_s:
            return number, False
    return None, False


def _integral(powers: Sequence[tuple[float, float]], start: float, end: float) -> float | None:
    """Joules of the sampled power between two times, by trapezoids; before the first sample and after the last one
    these hold. None for fewer than two samples."""
    if len(powers) < 2:
        return None
    times, watts = np.array(powers).T
    inside = (times > start) & (times < end)
    at = np.concatenate([[start], times[inside], [end]])
    power = np.concatenate([np.interp([start], times, watts), watts[inside], np.interp([end], times, watts)])
    return float(np.sum(np.diff(at) * (power[1:] + power[:-1]) / 2))


class Sections:
    """Runs of a plan back to back, about so many seconds at a time, and no copy and no check between them."""

    def __init__(self, prepared: Any, clock: Clock, seconds: float) -> None:
        self._prepared, self._clock, self._seconds = prepared, clock, seconds
        self._count = 1

    def __call__(self) -> int:
        """One section; returns its runs."""
        count, begin = self._count, self._clock.now()
        if hasattr(self._prepared, "repeat"):  # in another process
            self._prepared.repeat(count)
        else:
            samplers.repeat(self._prepared, count)
        took = max(self._clock.now() - begin, 1e-6)
        self._count = max(1, min(int(count * self._seconds / took), 4 * count))
        return count


class EnergyPass:
    """The energy of candidates, one after the other, on one device that must do nothing else meanwhile."""

    def __init__(
        self,
        device: Device,
        meter: Meter,
        recorder: Recorder,
        decides: bool = False,
        clock: Clock | None = None,
        lengths: Lengths | None = None,
    ) -> None:
        self.device, self.meter, self.recorder = device, meter, recorder
        self.clock, self.lengths = clock or HostClock(), lengths or LENGTHS
        self.decides = decides  # whether a search looks for the least energy
        self._idle_w: float | None = None
        self._kept: list[tuple[Row, list[str]]] = []  # without what follows from the idle power, and what is doubtful

    def run(self, candidates: Sequence[Candidate], bar: Bar) -> None:
        """A row of kind energy for each, kept at once, and once more when the power of the idle device after the last
        is known; those of an earlier run in this environment stand. A meter that fails ends nothing."""
        bar.stage(len(candidates), "kernel")
        for candidate in candidates:
            bar.say(f"energy of {candidate.label}")
            self.measure(candidate)
            bar.step()
        self.conclude(bar)

    def measure(self, candidate: Candidate) -> Row:
        """The row of one candidate, found or measured: its energy, or why it has none."""
        stored = self.recorder.found(resume_key(candidate.fields), "energy")
        if stored is not None and stored["status"] == "ok":
            return stored
        row: Row = {**candidate.fields, "kind": "energy", "role": "variant", "meter": self.meter.source}
        try:
            if candidate.prepared is None:
                raise unsupported("it is no plan of kernels, which could run back to back")
            if candidate.sampler.flushed:
                raise unsupported("before each run data are restored or caches flushed: none follow back to back")
            if self._idle_w is None:
                self._idle_w = self.idle()
            taken, doubtful = self.taken(candidate.prepared)
        except Exception as error:
            if not may_fail(candidate, error):
                raise
            return self.recorder.keep({**row, **failure(error)})
        self._kept.append(({**row, **taken}, doubtful))
        return self.recorder.keep(_concluded(*self._kept[-1], [self._idle_w]))

    def cost(self, candidate: Candidate) -> float | None:
        """Net joules to rank a candidate by; None where it has none, or takes hardly more than the idle device."""
        row = self.measure(candidate)
        return row["net_j"] if is_ranked(row) else None

    def taken(self, prepared: Any) -> tuple[Row, list[str]]:
        """The fields of a plan's loops, and what is doubtful about them. Raises MeterError, and what its runs raise."""
        sections = Sections(prepared, self.clock, self.lengths.section_s)
        loops = [
            loop(self.meter, self.clock, self.lengths, self.lengths.loop_s, sections) for _ in range(self.lengths.loops)
        ]
        by_power = [each.power_j for each in loops if each.power_j is not None]
        row: Row = {
            "loop_j": [each.joules for each in loops],
            "loop_power_j": by_power if len(by_power) == len(loops) else None,
            "loop_s": [each.seconds for each in loops],
            "loop_runs": [each.runs for each in loops],
            "sensor_pct": self.meter.sensor_pct,
        }
        told = [] if all(each.steady for each in loops) else ["its power was not steady before it was measured"]
        others = other_gpu_processes(self.device) or 0
        if others > 0:
            told.append(f"what {others} other process{'es' if others > 1 else ''} on the GPU took may be in it")
        return row, told

    def idle(self) -> float:
        """Watts of the device without runs. Raises MeterError."""

        def section() -> int:
            self.clock.sleep(self.lengths.section_s)
            return 0

        return loop(self.meter, self.clock, self.lengths, self.lengths.idle_s, section).watts

    def conclude(self, bar: Bar) -> None:
        """The idle device after the last loop, and the rows with it; without it where it cannot be measured."""
        if self._idle_w is None or not self._kept:
            return
        bar.say("energy of the idle device")
        with suppress(MeterError):
            after_w = self.idle()
            for row, doubtful in self._kept:
                self.recorder.keep(_concluded(row, doubtful, [self._idle_w, after_w]))


def _concluded(row: Row, doubtful: Sequence[str], idles_w: list[float]) -> Row:
    """The row with what follows from its loops and from the idle device's power."""
    made: Row = {**row, "idles_w": idles_w, "status": "ok"}
    made = {**made, **of_loops(made)}
    return made | {"energy_note": "; ".join([*doubtful, *doubts(made)]) or None}


def asked_for(device: Device, recorder: Recorder, decides: bool = False) -> EnergyPass | None:
    """How the energy of a device is measured; None, and a note, where it cannot be. Raises ParameterError where it
    cannot be and yet ``decides`` what a search finds."""
    meter = meter_of(device)
    if not isinstance(meter, str):
        return EnergyPass(device, meter, recorder, decides)
    if decides:
        raise ParameterError(f"objective: no energy can be measured here, for {meter}; use 'time'")
    recorder.notes.append(f"no energy: {meter}")
    return None
