"""Made-up meters of energy, on a clock that tests let pass, and the devices that take it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from gpuopt.lab.device.energy import MeterError
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing.samplers import Sampler

TICK_S = 1e-3  # in which the made-up time passes


@dataclass
class Bench:
    """A device on a clock of its own: ``watts(busy_s)`` is its power after so many seconds of runs, None while idle.
    It is a clock of ``lab.run.energy``, and ``meter`` counts what it takes."""

    watts: Callable[[float | None], float]
    run_s: float = 0.004
    interval_s: float = 0.1
    seconds: float = 0.0
    busy_s: float | None = None
    joules: float = 0.0
    shown: float = 0.0
    step_s: float = 0.0
    runs: int = 0
    sleeps: int = 0
    _look: Callable[[], None] | None = None
    _every_s: float = 0.0
    _next_s: float = 0.0

    def pass_by(self, seconds: float) -> None:
        """Lets time pass, looks included."""
        end = self.seconds + seconds
        while self.seconds < end - 1e-12:
            step = min(TICK_S, end - self.seconds)
            self.joules += step * self.watts(self.busy_s)
            self.seconds += step
            if self.busy_s is not None:
                self.busy_s += step
            if self.seconds >= self.step_s:
                self.step_s, self.shown = self.step_s + self.interval_s, self.joules
            if self._look is not None and self.seconds >= self._next_s:
                self._next_s += self._every_s
                self._look()

    # -------------------------------------------- as a clock

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.busy_s, self.sleeps = None, self.sleeps + 1
        self.pass_by(seconds)

    @contextmanager
    def looking(self, look: Callable[[], None], every_s: float) -> Iterator[None]:
        self._look, self._every_s, self._next_s = look, every_s, self.seconds
        try:
            yield
        finally:
            self._look = None

    # -------------------------------------------- as a plan

    def start(self) -> None:
        self.busy_s = self.busy_s or 0.0
        self.runs += 1
        self.pass_by(self.run_s)

    run = start


@dataclass
class BenchMeter:
    """The meter of a bench; ``altered`` changes what its counter shows, ``power`` what its instant power is."""

    bench: Bench
    source: str = "nvml"
    sensor_pct: float | None = 25.0
    altered: Callable[[float, float], float] = lambda joules, now: joules
    power: Callable[[float], float | None] = lambda watts: watts
    begun: int = 0

    @property
    def interval_s(self) -> float:
        return self.bench.interval_s

    def begin(self) -> None:
        self.begun += 1

    def joules(self) -> float:
        return self.altered(self.bench.shown, self.bench.seconds)

    def watts(self) -> float | None:
        return self.power(self.bench.watts(self.bench.busy_s))


@dataclass
class SteadyMeter:
    """Counts so many watts by the host's clock, in steps of a millisecond; fails after so many readings."""

    power_w: float = 50.0
    readings: float = float("inf")
    source: str = "rapl"
    interval_s: float = 1e-3
    sensor_pct: float | None = None
    last: float = field(default=0.0)

    def begin(self) -> None:
        """Nothing."""

    def joules(self) -> float:
        self.readings -= 1
        if self.readings < 0:
            raise MeterError("the cable was pulled")
        return self.power_w * int(time.perf_counter() * 1000) / 1000

    def watts(self) -> None:
        """It has no sensor of power."""


def candidate(bench: Any, label: str = "naive", flushed: bool = False, **fields: Any) -> Candidate:
    """A candidate whose plan is the bench."""
    known = {"source_sha256": label, "options": "", "device": "a GPU", "driver": "1", "workload": "tmv", "problem": "p"}
    known |= {"variant": label, "params": {}, "sizes": {}, "dtype": "float32", "local_size": [64], "unit": "u"}
    known |= {"global_size": [64], "cache_state": "hot", "clock": "event", "seed": 1, "protocol": "quick"}
    sampler = Sampler(lambda count: [1.0] * count, "event", flushed=flushed)
    made = Candidate(label, "variant", {**known, "configuration": label, **fields}, sampler, lambda: None)  # type: ignore[typeddict-item]
    made.prepared = bench
    return made


GPU = SimpleNamespace(
    name="NVIDIA H200", platform="NVIDIA CUDA", vendor="NVIDIA Corporation", type="gpu", pci="", extensions=[]
)
