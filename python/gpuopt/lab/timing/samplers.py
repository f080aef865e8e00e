"""Sources of times: device events, batches of short kernels, the host's clock; how many samples to take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import Error, Prepared
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Clock, Flag
from gpuopt.lab.timing.protocol import Protocol


@dataclass
class Sampler:
    """A source of times in milliseconds a run, with the clock that they come from and its step (0 for the host's).

    ``busy_ms`` (the kernels' own times, without what lies between them), ``queued_ms``, ``wall_ms`` and ``flags`` tell
    of what was taken since :meth:`begin`. ``flushed``: the caches are flushed before each sample, which the samples do
    not show.
    """

    take: Callable[[int], list[float]]
    clock: Clock
    batch_n: int = 1
    step_ns: float = 0.0
    flushed: bool = False
    busy_ms: list[float] = field(default_factory=list)
    queued_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)

    def begin(self) -> None:
        """Clears the lists and flags of earlier samples."""
        self.busy_ms, self.queued_ms, self.wall_ms, self.flags = [], [], [], []

    def taken(self, samples: list[float], *flags: Flag) -> VisitSamples:
        """``samples`` with the medians of the lists, and the flags. Raises Error where the samples' median is 0."""
        if float(np.median(samples)) <= 0:
            raise Error("no time at all: the compiler removed the work, or the clock does not run")
        lists = (self.busy_ms, self.queued_ms, self.wall_ms)
        busy, queued, wall = (float(np.median(told)) if told else None for told in lists)
        return VisitSamples(samples, busy, queued, wall, [*flags, *self.flags])


@dataclass(frozen=True)
class VisitSamples:
    """The samples of one visit in ms a run, the medians of what kernels, queue and the host's clock say, and flags."""

    samples: list[float]
    busy_ms: float | None = None
    queued_ms: float | None = None
    wall_ms: float | None = None
    flags: list[Flag] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        return float(np.median(self.samples))


SHORT_S = 50e-6  # below this, or 100 clock steps, runs are queued behind a gate and timed together
BATCH_SPAN_S = 1e-3
PEER_RUNS = 10  # queued together at least, where they are short: their time includes the host's launch of the first
CUDA_STEP_NS = 500.0  # of CUDA's events, as its manual says
CLOCKS_APART = 0.05  # what event times and the host's clock may differ by
GATED_COMMANDS = 1024  # the most that wait behind one gate: of a longer batch, only the wait of the first part is known


def batch_for(prepared: Prepared, step_ns: float, clock: Clock | None = None) -> int:
    """Runs to time together: 1, or for a short plan (or the clock "batch") as many as span a millisecond."""
    if clock == "event":
        return 1
    first = prepared.sample(1)["device_ms"]
    once = float(np.median(first if first[0] > LONG_MS else prepared.sample(3)["device_ms"])) * 1e-3
    if clock is None and once >= max(SHORT_S, 100 * step_ns * 1e-9):
        return 1
    return max(2, batch_spanning(once))


def batch_spanning(once_s: float) -> int:
    """How many runs of ``once_s`` seconds span a millisecond; 1000 at most."""
    return max(1, min(int(np.ceil(BATCH_SPAN_S / max(once_s, 1e-6))), 1000))


def device_sampler(
    prepared: Prepared, step_ns: float, flush: Callable[[], None] | None = None, clock: Clock | None = None
) -> Sampler:
    """Times by device events. Short kernels are timed in batches, where the clock's step and the launch count little.

    With ``flush``, every sample is a single run after a flush of the caches. ``clock`` ("event" or "batch") is the
    decision of an earlier run: a time near the limit would fall now on one side of it, now on the other.
    """
    sampler = Sampler(lambda count: [], "event", step_ns=step_ns, flushed=flush is not None)
    batch = batch_for(prepared, step_ns, clock) if flush is None else 1
    if batch > 1:
        sampler.clock, sampler.batch_n = "batch", batch
    whole = batch == 1 or batch * len(prepared.kernels) <= GATED_COMMANDS

    def take(count: int) -> list[float]:
        if flush is None:
            got = prepared.sample(count, batch)
        else:
            got = {"device_ms": [], "busy_ms": [], "queued_ms": [], "wall_ms": []}
            for _ in range(count):
                flush()
                for name, values in prepared.sample(1).items():
                    got.setdefault(name, []).extend(values)
        sampler.busy_ms.extend(got["busy_ms"])
        sampler.queued_ms.extend(got["queued_ms"])
        sampler.wall_ms.extend(got["wall_ms"])
        times: list[float] = got["device_ms"]
        doubts: dict[Flag, bool] = {
            "optimised_away": bool(count) and min(times) <= 0,
            "timer_suspect": bool(count) and whole and clocks_differ(times, got["queued_ms"], got["wall_ms"], batch),
        }
        sampler.flags += [flag for flag, seen in doubts.items() if seen and flag not in sampler.flags]
        return times

    sampler.take = take
    return sampler


def clocks_differ(device_ms: Sequence[float], queued_ms: Sequence[float], wall_ms: Sequence[float], batch: int) -> bool:
    """Whether the events' times of queue and runs add up to another time than the host's clock shows.

    Samples below a millisecond do not count: the host's own time to fill the queue is a large part of them. All samples
    have to disagree, since a busy host notices the end of a run late now and then.
    """
    spans, walls = np.array(device_ms) * batch, np.array(wall_ms) * batch
    apart = np.abs(spans + np.array(queued_ms) - walls) > CLOCKS_APART * walls
    return bool(float(np.median(spans)) >= BATCH_SPAN_S * 1e3 and apart.all())


def wall_sampler(run: Callable[[], Any], flush: Callable[[], None] | None = None) -> Sampler:
    """Times by the host's clock around ``run``, each after a ``flush`` of the caches if there is one."""

    def take(count: int) -> list[float]:
        times = []
        for _ in range(count):
            if flush is not None:
                flush()
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3)
        return times

    return Sampler(take, "wall", flushed=flush is not None)


def queued_sampler(
    sample: Callable[[int, int], list[float]],
    flush: Callable[[], None] | None = None,
    clock: Clock | None = None,
) -> Sampler:
    """Times by another library's device clock. ``sample(count, batch)`` gives ms a run of ``batch`` queued together.

    Between two events of such a clock lies the host's time to launch the run, too. What is shorter than ten
    milliseconds is therefore timed in batches of at least ten. ``flush`` and ``clock`` as in :func:`device_sampler`.
    """
    if flush is not None:

        def take(count: int) -> list[float]:
            times = []
            for _ in range(count):
                flush()
                times += sample(1, 1)
            return times

        return Sampler(take, "event", step_ns=CUDA_STEP_NS, flushed=True)
    once_s = float(np.median(sample(3, 1))) * 1e-3
    short = clock == "batch" or (clock is None and once_s < PEER_RUNS * BATCH_SPAN_S)
    batch = max(PEER_RUNS, batch_spanning(once_s)) if short else 1
    return Sampler(lambda count: sample(count, batch), "batch" if batch > 1 else "event", batch, CUDA_STEP_NS)


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
    typical = float(np.median(times)) * sampler.batch_n * 1e-3
    return max(least, min(int(np.ceil(seconds / max(typical, 1e-6))), 2000))


def visit(sampler: Sampler, protocol: Protocol) -> VisitSamples:
    """One visit in a block: a discarded run, then the samples. Raises Error where they show no time at all."""
    begin = time.perf_counter()
    first = sampler.take(1)
    wall_s = time.perf_counter() - begin
    sampler.begin()
    return sampler.taken(sampler.take(visit_count(sampler, first, wall_s, protocol.visit_s, protocol.visit_samples)))
