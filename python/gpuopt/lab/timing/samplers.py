"""Sources of times: device events, batches of short kernels, the host's clock; how many samples to take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from gpuopt._core import Error, Prepared
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Clock, Flag
from gpuopt.lab.timing.protocol import Protocol


@dataclass
class Told:
    """What samples tell beside their times: the kernels' own times without what lies between them, the wait in the
    queue, the host's clock (ms), when each sample began (seconds of ``time.perf_counter``), and flags."""

    busy_ms: list[float] = field(default_factory=list)
    queued_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    start_s: list[float] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)

    def add_flags(self, *flags: Flag) -> None:
        """Adds those that are not there yet."""
        self.flags += [flag for flag in flags if flag not in self.flags]


@dataclass
class Sampler:
    """A source of times in milliseconds a run, with the clock that they come from and its step (0 for the host's).

    ``told`` is of what was taken since :meth:`begin`; whoever takes the samples writes into it. ``flushed``: the caches
    are flushed before each sample, which the samples do not show.
    """

    take: Callable[[int], list[float]]
    clock: Clock
    batch_n: int = 1
    step_ns: float = 0.0
    flushed: bool = False
    told: Told = field(default_factory=Told)

    def begin(self) -> None:
        """Clears what earlier samples told."""
        told = self.told
        for values in (told.busy_ms, told.queued_ms, told.wall_ms, told.start_s, told.flags):
            values.clear()

    def taken(self, samples: list[float], *flags: Flag) -> VisitSamples:
        """``samples`` with the medians of what they told, and the flags. Raises Error where their median is 0."""
        if float(np.median(samples)) <= 0:
            raise Error("no time at all: the compiler removed the work, or the clock does not run")
        lists = (self.told.busy_ms, self.told.queued_ms, self.told.wall_ms)
        busy, queued, wall = (float(np.median(told)) if told else None for told in lists)
        starts = list(self.told.start_s) if len(self.told.start_s) == len(samples) else []
        return VisitSamples(samples, busy, queued, wall, [*flags, *self.told.flags], starts)

    @property
    def runs(self) -> int:
        """How many runs a sample takes: a period begins at the end of one that is not counted."""
        return self.batch_n + (self.clock == "batch")


@dataclass(frozen=True)
class VisitSamples:
    """The samples of one visit in ms a run, the medians of what kernels, queue and the host's clock say, and flags.
    ``start_s``: when each sample began, in seconds of ``time.perf_counter``; empty where nobody knows."""

    samples: list[float]
    busy_ms: float | None = None
    queued_ms: float | None = None
    wall_ms: float | None = None
    flags: list[Flag] = field(default_factory=list)
    start_s: list[float] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        return float(np.median(self.samples))


SHORT_S = 50e-6  # what is below this, or 100 clock steps, is timed as the period of runs queued back to back
BATCH_SPAN_S = 1e-3
WALL_SPAN_S = 10e-3  # of a batch by the host's clock, which begins before the first run does
CUDA_STEP_NS = 500.0  # of CUDA's events, as its manual says
CLOCKS_APART = 0.05  # what event times and the host's clock may differ by
WAKE_UP_MS = 0.1  # what the host may need to open a gate and to see the end of a batch
NO_TIMER = float("inf")  # the step of an event clock that shows no time


def once_ms(prepared: Prepared) -> float:
    """The time of one run by device events, by the host's clock where these show none: the median of three, or one long
    run."""
    got = prepared.sample(1)
    if max(got["device_ms"][0], got["wall_ms"][0]) <= LONG_MS:
        got = prepared.sample(3)
    by_events = float(np.median(got["device_ms"]))
    return by_events if by_events > 0 else float(np.median(got["wall_ms"]))


def repeat(prepared: Prepared, count: int) -> None:
    """Runs a plan so often, back to back and untimed, and waits for the last."""
    for _ in range(count - 1):
        prepared.start()
    prepared.run()


def clock_for(once_ms: Sequence[float], step_ns: float) -> Clock:
    """The one clock of all that are compared: events of a single run where every run is long enough (``once_ms``
    milliseconds each) for a clock of this step, else the period of runs queued back to back. The host's clock where the
    device's shows no time (a step of ``NO_TIMER``)."""
    if step_ns == NO_TIMER:
        return "wall"
    least = max(SHORT_S * 1e3, 100 * step_ns * 1e-6)
    return "event" if all(once >= least for once in once_ms) else "batch"


def batch_spanning(once_s: float, span_s: float = BATCH_SPAN_S) -> int:
    """How many runs of ``once_s`` seconds span this time; 1000 at most."""
    return max(1, min(int(np.ceil(span_s / max(once_s, 1e-6))), 1000))


def event_clock_runs(prepared: Prepared, single_ms: Sequence[float]) -> bool:
    """Whether the device's event clock shows time. ``single_ms`` are device times of short runs of the plan: below 0 is
    a clock that runs backwards; where all are 0, a clock of large steps must move during thousands of runs."""
    if min(single_ms) < 0:
        return False
    return max(single_ms) > 0 or any(prepared.sample(1, batch)["device_ms"][0] > 0 for batch in (1000, 10000))


def device_sampler(
    prepared: Prepared, step_ns: float, flush: Callable[[], None] | None = None, clock: Clock | None = None
) -> Sampler:
    """Times of a plan by the ``clock`` of a comparison, or by one that fits this plan alone where that is None.

    "event": START to END of a single run. "batch": the period of runs queued back to back, from the end of one to the
    end of the next, so that each has one gap inside however many make a sample. "wall": the host's clock around a
    batch, also where ``step_ns`` is ``NO_TIMER``. With ``flush``, every sample is a single run after a flush of the
    caches.
    """
    if step_ns == NO_TIMER:
        clock = "wall"
    batch = 1
    if flush is not None:
        clock = "wall" if clock == "wall" else "event"
    elif clock != "event":
        once = once_ms(prepared)
        clock = clock or clock_for([once], step_ns)
        if clock != "event":
            batch = batch_spanning(once * 1e-3, WALL_SPAN_S if clock == "wall" else BATCH_SPAN_S)
    runs = DeviceRuns(prepared, clock, batch, flush)
    step = 0.0 if clock == "wall" else step_ns
    return Sampler(runs.take, clock, batch, step, flush is not None, runs.told)


@dataclass
class DeviceRuns:
    """Runs of a plan, timed. It knows no Sampler: a cycle of both would hold device memory until a collection."""

    prepared: Prepared
    clock: Clock
    batch: int
    flush: Callable[[], None] | None
    told: Told = field(default_factory=Told)

    def take(self, count: int) -> list[float]:
        """So many samples, in ms a run."""
        if self.flush is None:
            return self._taken(self.prepared.sample(count, self.batch, self.clock == "batch"))
        if (together := getattr(self.flush, "sample", None)) is not None:  # what restores it samples it, too
            return self._taken(together(count))
        times = []
        for _ in range(count):
            self.flush()
            times += self._taken(self.prepared.sample(1))
        return times

    def _taken(self, got: Mapping[str, list[float]]) -> list[float]:
        self.told.start_s += got["start_s"]
        self.told.wall_ms += got["wall_ms"]
        times = got["wall_ms" if self.clock == "wall" else "device_ms"]
        if self.clock != "wall":
            self.told.busy_ms += got["busy_ms"]
            self.told.queued_ms += got["queued_ms"]
            if times and self._suspect(got):
                self.told.add_flags("timer_suspect")
        if times and min(times) <= 0:
            self.told.add_flags("optimised_away")
        return times

    def _suspect(self, got: Mapping[str, list[float]]) -> bool:
        """Whether the host's clock saw another time: of a single run from its enqueuing on, with its wait in the queue,
        of runs behind a gate from its opening."""
        if self.clock == "batch":
            spans, walls = (np.array(got[name]) * (self.batch + 1) for name in ("all_ms", "wall_ms"))
            return clocks_differ(spans, walls, WAKE_UP_MS)
        device, queued, wall = (np.array(got[name]) for name in ("device_ms", "queued_ms", "wall_ms"))
        return bool(np.median(device) >= BATCH_SPAN_S * 1e3) and clocks_differ(device + queued, wall)


def clocks_differ(
    spans_ms: Sequence[float] | np.ndarray, walls_ms: Sequence[float] | np.ndarray, late_ms: float = 0.0
) -> bool:
    """Whether events and the host's clock tell different times of the same spans, of a millisecond at least.

    A busy host notices the end of a run late now and then, by ``late_ms`` as a rule: all spans must be shorter than the
    host says, while more than half that are longer are enough.
    """
    spans, walls = np.asarray(spans_ms), np.asarray(walls_ms)
    if max(median(spans.tolist()), median(walls.tolist())) < BATCH_SPAN_S * 1e3:
        return False
    longer = 2 * np.count_nonzero(spans > (1 + CLOCKS_APART) * walls) > len(spans)
    return bool(longer or (spans < (1 - CLOCKS_APART) * walls - late_ms).all())


HostTimes = tuple[list[float], list[float]]  # ms, and when each began, in seconds of time.perf_counter


def host_times(run: Callable[[], Any], count: int, before: Callable[[], Any] | None = None) -> HostTimes:
    """Times of so many runs by the host's clock, each after what comes ``before`` it."""
    times, starts = [], []
    for _ in range(count):
        if before is not None:
            before()
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
        starts.append(begin)
    return times, starts


def wall_sampler(
    run: Callable[[], Any],
    flush: Callable[[], None] | None = None,
    timed: Callable[[int], HostTimes] | None = None,
) -> Sampler:
    """Times by the host's clock around ``run``, each after a ``flush`` of the caches if there is one. What runs in
    another process is ``timed`` there: the message to it is no part of the run."""
    told = Told()
    timed = timed or partial(host_times, run)
    there: Callable[[int], HostTimes] | None = getattr(flush, "host_times", None)  # what restores it times it, too

    def take(count: int) -> list[float]:
        if flush is None or there is not None:
            times, starts = (there or timed)(count)
        else:
            times, starts = [], []
            for _ in range(count):
                flush()
                for found, more in zip((times, starts), timed(1), strict=True):
                    found += more
        told.start_s += starts
        return times

    return Sampler(take, "wall", flushed=flush is not None, told=told)


class PeerTimes(list[float]):
    """Times in ms a run from another library's clock, with what is doubtful about them and when each sample began."""

    def __init__(self) -> None:
        super().__init__()
        self.flags: list[Flag] = []
        self.start_s: list[float] = []


def queued_sampler(
    sample: Callable[[int, int], list[float]],
    flush: Callable[[], None] | None = None,
    clock: Clock | None = None,
) -> Sampler:
    """Times by another library's device clock. ``sample(count, batch)`` gives ms a run of ``batch`` queued together,
    without the host's launches; as :class:`PeerTimes` it may say more. ``flush`` and ``clock`` as in
    :func:`device_sampler`; its "batch" is the span of runs queued back to back, with a gap for each.
    """
    told = Told()
    batch = 1
    if flush is None and clock != "event":
        once = float(np.median(sample(3, 1)))
        if (clock if clock == "batch" else clock_for([once], CUDA_STEP_NS)) == "batch":
            clock, batch = "batch", batch_spanning(once * 1e-3)
    chosen: Clock = "batch" if clock == "batch" and flush is None else "event"

    def take(count: int) -> list[float]:
        if flush is None:
            parts = [sample(count, batch)]
        else:
            parts = []
            for _ in range(count):
                flush()
                parts.append(sample(1, 1))
        for part in parts:
            if isinstance(part, PeerTimes):
                told.start_s += part.start_s
                told.add_flags(*part.flags)
        times = [float(value) for part in parts for value in part]
        if len(times) != count or not all(0 <= value < math.inf for value in times):
            raise ValueError(f"its clock gave {times[:4]} ms for {count} runs")
        return times

    return Sampler(take, chosen, batch, CUDA_STEP_NS, flush is not None, told)


HOPELESS = 4  # times the best so far: a configuration whose first samples are all slower gets no more of them
HOPELESS_SAMPLES = 3
LONG_MS = 250.0  # of such a run, one is enough to see that it is hopeless


def _hopeless(times: Sequence[float], hopeless_ms: float) -> bool:
    """Whether the first samples say that no more of them are worth their time."""
    enough = 1 if times[0] > LONG_MS else HOPELESS_SAMPLES
    return len(times) >= enough and min(times[:enough]) > hopeless_ms


def warm_up(sampler: Sampler, protocol: Protocol, hopeless_ms: float = np.inf) -> float:
    """Runs until the median of the last ten times moves by less than 1 %, for at least the protocol's shorter and at
    most its longer time. Three runs, or one long one, are enough where all take more than ``hopeless_ms``. Returns the
    milliseconds spent."""
    begin = time.perf_counter()
    times: list[float] = []
    previous = np.inf
    while True:
        times += sampler.take(1 if len(times) < 10 else 5)
        spent = time.perf_counter() - begin
        median = float(np.median(times[-10:]))
        settled = len(times) >= 10 and abs(median - previous) < 0.01 * median
        if len(times) <= HOPELESS_SAMPLES and _hopeless(times, hopeless_ms):
            return spent * 1e3
        if spent >= protocol.warm_up_cap_s or (settled and spent >= protocol.warm_up_s):
            return spent * 1e3
        previous = median


def search_samples(sampler: Sampler, protocol: Protocol, hopeless_ms: float = np.inf) -> VisitSamples:
    """Samples until the interval is as narrow as the protocol asks, or its time is spent (flag ``unconverged``); only a
    few where the first ones all take more than ``hopeless_ms`` (flag ``cut_short``)."""
    sampler.begin()
    begin = time.perf_counter()
    times = sampler.take(1)
    if not _hopeless(times, hopeless_ms):
        times += sampler.take(HOPELESS_SAMPLES - 1)
    if _hopeless(times, hopeless_ms):
        return sampler.taken(times, "cut_short")
    times += sampler.take(10 - len(times))
    while True:
        spent = time.perf_counter() - begin
        enough = statistics.converged(
            times,
            protocol.search_target,
            spent_s=spent,
            min_spent_s=protocol.search_min_s,
            resolution=sampler.step_ns * 1e-6,
            batch=sampler.batch_n,
        )
        if enough:
            return sampler.taken(times)
        if spent >= protocol.search_cap_s:
            return sampler.taken(times, "unconverged")
        times += sampler.take(visit_count(sampler, times, spent / len(times), 0.05, 3))


COLD_SAMPLES = 10  # the most of one visit where the caches are flushed before each


def visit_count(sampler: Sampler, times: Sequence[float], wall_s: float, seconds: float, least: int) -> int:
    """How many samples fill ``seconds``: by earlier ``times`` in ms, or, where the caches are flushed before each, by
    ``wall_s``, the seconds that a sample takes on the host's clock."""
    if sampler.flushed:
        return max(least, min(int(seconds / max(wall_s, 1e-6)), COLD_SAMPLES))
    typical = float(np.median(times)) * sampler.runs * 1e-3
    return max(least, min(int(np.ceil(seconds / max(typical, 1e-6))), 2000))


def visit(sampler: Sampler, protocol: Protocol) -> VisitSamples:
    """One visit in a block: a discarded run, then the samples. Raises Error where they show no time at all."""
    begin = time.perf_counter()
    first = sampler.take(1)
    wall_s = time.perf_counter() - begin
    sampler.begin()
    return sampler.taken(sampler.take(visit_count(sampler, first, wall_s, protocol.visit_s, protocol.visit_samples)))
