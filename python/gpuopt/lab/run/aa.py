"""How small a difference this machine can show today: identical kernels, compared as the variants of a study are."""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, Error, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.device.aa_record import AA, Launch, Shown, last, path_of, save
from gpuopt.lab.device.bandwidth import MIB, BandwidthTest, affordable_bytes, clock_step_ns
from gpuopt.lab.device.environment import device_label, environment
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.row_fields import Role
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run.blocks import Comparison
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.run.plan_fields import kernel_fields
from gpuopt.lab.timing import samplers, statistics
from gpuopt.lab.timing.fields import Clock
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.problem import work_of
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select

__all__ = ["AA", "Kind", "Pair", "aa", "compare_once", "kinds", "last"]

COPIES = 4  # held against one baseline
SHORT_BYTES = 16384
LONG_MS = 0.5  # a launch of this time is a long one
LONGEST_BYTES = 256 * MIB  # what a long launch reads at most; such a read is long beside any clock's step
CERTIFIED = 0.9  # of the comparisons could certify the smallest difference


class Kind(NamedTuple):
    """A kind of comparison: the clock, and the launch that is timed: a read of so many bytes."""

    clock: Clock
    launch: Launch
    bytes: int
    configuration: Configuration


class Pair(NamedTuple):
    """One identical kernel held against another: the row of its summary, and the band that its verdict needed."""

    kind: Kind
    row: Row
    band: float

    @property
    def refused(self) -> bool:
        """Whether no verdict was given, be it for the machine's state or for too few blocks."""
        return self.row["verdict"] is None or bool(self.row["refused"])

    @property
    def smallest(self) -> float | None:
        """The least difference, as a fraction, with which its interval would have lain outside the band on either
        side; None without an interval."""
        lo, hi = self.row["ratio_lo"], self.row["ratio_hi"]
        if not lo or not hi:
            return None
        fast, slow = statistics.band_ends(self.band)
        return max(1.0 - fast / hi, slow / lo - 1.0)


@checked
def aa(device: Selector = None, *, seconds: float = 60.0, keep: bool = True, progress: bool | None = None) -> AA:
    """Compares identical kernels, each with buffers of its own, for about ``seconds``, and keeps what that shows.

    Short and long launches, by events and in batches, in blocks as of a quick study; every comparison allocates its
    buffers anew. At least one comparison of each kind is made, however short ``seconds``. With ``keep``, headers of
    studies on this device say what it showed. Raises ParameterError where ``seconds`` is no positive number, Error
    where no kernel runs.

    Examples
    --------
    >>> lab.aa(seconds=60).sentence()  # doctest: +SKIP
    'this machine could show 1.3 % on 2026-11-22'
    >>> try:
    ...     lab.aa(seconds=0)
    ... except gpuopt.ParameterError as error:
    ...     print(error)
    seconds: 0 is no time; give a positive number, such as 60
    """
    if not 0 < seconds < math.inf:
        raise ParameterError(f"seconds: {seconds} is no time; give a positive number, such as 60")
    chosen = select(device)
    begin, before = time.perf_counter(), _load()
    found: list[Pair] = []
    every = kinds(chosen)
    bar, spent, number = Bar(progress, len(every)), 0.0, 0
    try:
        while not found or time.perf_counter() - begin + spent <= seconds:
            start = time.perf_counter()
            for kind in every:
                bar.say(f"{kind.launch} launches by {kind.clock}")
                found += compare_once(chosen, kind, number)
                bar.step()
            spent, number = time.perf_counter() - start, number + 1
            bar.more(len(every))
    finally:
        bar.close()
    facts = environment(chosen)
    unit = dict(facts).get("unit")
    made = AA(
        device=device_label(chosen),
        driver=chosen.driver,
        platform=chosen.platform,
        time_utc=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
        gpuopt_version=_core.__version__,
        seconds=time.perf_counter() - begin,
        shown=tuple(_shown(kind, [pair for pair in found if pair.kind == kind]) for kind in every),
        conditions={"load before": before, "load after": _load()},
        unit=unit if isinstance(unit, str) else None,
    )
    if keep:
        save(made, path_of(chosen))
    return made


def kinds(device: Device) -> list[Kind]:
    """Each clock with short and with long launches. Raises Error where no kernel runs."""
    most = min(LONGEST_BYTES, affordable_bytes(device) // (2 * (COPIES + 2)))
    size, configuration, once_ms = SHORT_BYTES, *_first_read(device, SHORT_BYTES)
    short, long = (size, configuration), (size, configuration)
    size = MIB
    while size <= most and once_ms < LONG_MS:
        configuration, once_ms = _first_read(device, size)
        long = size, configuration
        size *= 2 if once_ms > LONG_MS / 4 else 4
    clocks: tuple[Clock, ...] = ("event", "batch")
    lengths: tuple[tuple[Launch, tuple[int, Configuration]], ...] = (("short", short), ("long", long))
    return [Kind(clock, launch, *read) for clock in clocks for launch, read in lengths]


def _first_read(device: Device, size: int) -> tuple[Configuration, float]:
    """The first read of so many bytes that runs, and its time in ms."""
    for configuration, prepared, rate in BandwidthTest(device, size).candidates():
        if configuration.variant.startswith("read"):
            return configuration, prepared.work["bytes"]["dram"] / rate * 1e-6
    raise Error(f"no read kernel runs on {device.name}: identical kernels cannot be compared")


def compare_once(device: Device, kind: Kind, seed: int = 0, copies: int = COPIES) -> list[Pair]:
    """One comparison of identical kernels; a pair for each of the ``copies`` that got a summary."""
    made = _twins(device, kind, copies)
    rows, band = _in_blocks(device, made, seed)
    baseline = made[0].label
    own = [row for row in rows if row["role"] == "variant" and row["configuration"] != baseline]
    return [Pair(kind, row, band) for row in own if row["kind"] == "summary"]


def _twins(device: Device, kind: Kind, copies: int) -> list[Candidate]:
    """The baseline, its clone and its ``copies``: one kernel over equal data, each built and allocated by itself."""
    step = clock_step_ns(device.index)
    found = []
    for number in range(copies + 2):
        prepared = BandwidthTest(device, kind.bytes).prepare(kind.configuration)
        sampler = samplers.device_sampler(prepared, step, None, kind.clock)
        samplers.warm_up(sampler, PROTOCOLS["quick"])
        clone = number == 1  # whose ratios are the band, as in a study
        number = 0 if clone else number
        label = f"{kind.configuration} {number}"
        fields: Row = {
            **kernel_fields(prepared),
            "workload": "aa",
            "problem": f"{kind.launch} launches",
            "dtype": "float32",
            "seed": 0,
            "cache_state": "hot",
            "variant": kind.configuration.variant,
            "configuration": label,
            "params": {**kind.configuration.parameters, "copy": number},
            "sizes": {"bytes": kind.bytes},
            "footprint_bytes": kind.bytes,
            "device": device_label(device),
            "device_type": device.type,
            "driver": device.driver,
            "platform": device.platform,
            "protocol": "quick",
            "clock": sampler.clock,
        }
        role: Role = "clone" if clone else "variant"
        found.append(Candidate(label, role, fields, sampler, lambda: None, work_of(prepared), prepared=prepared))
    return found


def _in_blocks(device: Device, made: list[Candidate], seed: int) -> tuple[list[Row], float]:
    """The rows of their comparison, as of a quick study, and its band."""
    recorder = Recorder(None)
    comparison = Comparison(made, "dram", device, PROTOCOLS["quick"], recorder, PhaseTimer(), seed)
    comparison.run(Bar(False, 0))
    return recorder.rows, comparison.band


def _shown(kind: Kind, pairs: Sequence[Pair]) -> Shown:
    words = [pair.row["verdict"] for pair in pairs]
    told = sorted(math.inf if (one := pair.smallest) is None else one for pair in pairs)
    smallest = told[math.ceil(CERTIFIED * len(told)) - 1] if told else math.inf
    times = [pair.row["median_ms"] for pair in pairs if pair.row["median_ms"]]
    return Shown(
        clock=kind.clock,
        launch=kind.launch,
        launch_ms=float(np.median(times)) if times else 0.0,
        comparisons=len(pairs),
        false=sum(word in ("FAST", "SLOW") for word in words),
        same=words.count("SAME"),
        refused=sum(pair.refused for pair in pairs),
        smallest=smallest if math.isfinite(smallest) else None,
    )


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
