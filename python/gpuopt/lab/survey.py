"""A survey: many small questions to a device, each verified and timed by itself, as rows that survive a kill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpuopt import _core
from gpuopt import configuration as tables
from gpuopt._core import Device, Error, MismatchError, ParameterError
from gpuopt.configuration import Configuration
from gpuopt.lab import measure, statistics
from gpuopt.lab.bounds import clock_step_ns
from gpuopt.lab.comparison import timed
from gpuopt.lab.environment import device_label, device_state, environment, is_throttled
from gpuopt.lab.measure import PROTOCOLS, Ledger, Protocol
from gpuopt.lab.progress import Bar
from gpuopt.lab.recorder import Recorder
from gpuopt.lab.results import Row, resume_key
from gpuopt.lab.study import Study
from gpuopt.lab.targets import Target, failure, kernel_fields, problem_fields, variant_target
from gpuopt.problems.microbench import microbenchmark, release
from gpuopt.selection import Selector, select

PAIRS = 6  # of a run and one with twice its work: the fewest whose median has an interval
DOUBLE_BAND = 0.03  # what twice the work may take more or less than twice the time


@dataclass(frozen=True)
class Point:
    """One question: a microbenchmark at one size, and in which state the caches are for it."""

    configuration: Configuration
    dtype: str = "float32"
    bytes: int = 1 << 26
    width: int = 0
    trips: int = 1

    @property
    def variant(self) -> str:
        return self.configuration.variant

    def __str__(self) -> str:
        return f"{self.configuration} {self.dtype}"

    def fields(self) -> Row:
        """What the row says of the question before it is asked."""
        exact = tables.complete("microbench", self.configuration)
        family = next(row.family for row in tables.variants("microbench") if row.name == self.variant)
        return {
            "family": family,
            "variant": self.variant,
            "configuration": str(exact),
            "params": exact.parameters,
            "dtype": self.dtype,
            "sizes": {"bytes": self.bytes, "width": self.width, "trips": self.trips},
        }

    def target(self, run: _Survey) -> Target:
        """Built, bound and verified. Raises what forbids it."""
        exact = tables.complete("microbench", self.configuration)
        with run.ledger("data"):
            problem = microbenchmark(
                exact, self.dtype, self.bytes, width=self.width, trips=self.trips, device=run.device
            )
        # Which level of memory holds a working set is what some points ask; none of them flushes a cache.
        common = problem_fields(problem, run.device, run.protocol.name, "hot", run.env_hash)
        common["family"] = self.fields()["family"]
        return variant_target(problem, exact, None, run.device, common, run.ledger, None, run.recorder.clock_of)


@dataclass(frozen=True)
class TransferPoint:
    """A copy of ``bytes`` from the host or to it, by memory of the driver's own (``pinned``) or any."""

    variant: str  # "upload" or "download"
    pinned: bool
    bytes: int = 1 << 26

    def __str__(self) -> str:
        return f"{self.variant} {'pinned' if self.pinned else 'plain'}"

    def fields(self) -> Row:
        """What the row says of the question before it is asked."""
        configuration = Configuration(self.variant, PINNED=int(self.pinned))
        return {
            "family": "transfer",
            "variant": self.variant,
            "configuration": str(configuration),
            "params": configuration.parameters,
            "dtype": "uint8",
            "sizes": {"bytes": self.bytes},
        }

    def target(self, run: _Survey) -> Target:
        """Bound and verified. Raises what forbids it."""
        with run.ledger("data"):
            array = _core.empty((self.bytes,), np.dtype(np.uint8), run.device)
            prepared, host = _core.prepare_transfer(array, self.variant == "upload", self.pinned)
            data = np.random.default_rng(0).integers(0, 256, self.bytes, dtype=np.uint8)

        def check() -> None:
            there = self.variant == "upload"
            host[:] = data if there else 0
            if there:
                array.fill_bytes(0)
            else:
                upload, staged = _core.prepare_transfer(array, True, False)
                staged[:] = data
                upload.run()
            prepared.run()
            if not np.array_equal(array.to_numpy() if there else host, data):
                raise MismatchError(f"{self.variant}: what arrived is not what was sent")

        with run.ledger("verify"):
            check()
        fields = run.common | self.fields() | kernel_fields(prepared)
        fields |= {"problem": "transfer", "footprint_bytes": self.bytes, "seed": 0, "cache_state": "hot"}
        fields |= {"flops": None, "bytes": prepared.work["bytes"], "options": "transfer 1"}
        with run.ledger("warm-up"):
            sampler = measure.device_sampler(prepared, clock_step_ns(run.device.index), None, "event")
        fields["clock"] = sampler.clock
        return Target(str(self), "variant", fields, sampler, check, prepared.work)


def survey(
    points: Sequence[Point | TransferPoint],
    *,
    protocol: str = "quick",
    device: Selector = None,
    store: str | Path | None = None,
    progress: bool = False,
    name: str = "microbench",
) -> Study:
    """Measures each point and returns the study of their rows (kind ``point``).

    A point that the device cannot run is a row with its status and reason. Points whose rows are in ``store`` and still
    hold are not measured again. Ctrl-C ends the survey early: the study holds what was finished, ``interrupted`` is
    True. Of what loops, runs of twice the trips are timed beside it; the flag ``suspicious`` says that they did not
    take twice the time.
    """
    if protocol not in PROTOCOLS:
        raise ParameterError(f"protocol: there is none called {protocol!r}; use one of {', '.join(PROTOCOLS)}")
    run = _Survey(select(device), PROTOCOLS[protocol], Recorder(store))
    bar = Bar(progress, len(points))
    interrupted = False
    try:
        for point in points:
            bar.say(str(point))
            run.measure(point)
            bar.step()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
        release()
        run.recorder.finish()
    return run.study(name, interrupted)


class _Survey:
    """One survey under way."""

    def __init__(self, device: Device, protocol: Protocol, recorder: Recorder) -> None:
        self.device, self.protocol, self.recorder = device, protocol, recorder
        self.ledger = Ledger()
        facts = environment(device)
        self.env_hash = facts["env_hash"]
        row = {"kind": "environment", "status": "ok", "environment": facts, "env_hash": self.env_hash}
        recorder.keep(row | {"device": device_label(device)})
        self.common: Row = {
            "workload": "microbench",
            "device": device_label(device),
            "device_type": device.type,
            "driver": device.driver,
            "platform": device.platform,
            "protocol": protocol.name,
            "env_hash": self.env_hash,
        }

    def measure(self, point: Point | TransferPoint) -> None:
        """The row of one point, measured or found."""
        fields = point.fields()
        try:
            target = point.target(self)
            fields = target.fields
            found = self.recorder.found(resume_key(target.fields), "point")
            if found is None:
                self.recorder.keep(self.taken(target))
        except (Error, MemoryError) as error:
            row = self.common | fields | failure(error)
            self.recorder.keep(row | {"kind": "point", "role": "variant"})

    def taken(self, target: Target) -> Row:
        """Samples of one point, checked again afterwards."""
        with self.ledger("warm-up"):
            warmed = measure.warm_up(target.sampler, self.protocol)
        with self.ledger("samples"):
            taken = measure.search_samples(target.sampler, self.protocol)
            doubled = self.doubled(target) if target.doubled is not None else None
        with self.ledger("verify"):
            target.check()
        state = device_state(self.device)
        row = timed(target, taken, ["throttled"] * is_throttled([state])) | state
        if doubled is not None:
            row["doubled"] = doubled.median
            if doubled.hi < 2 * (1 - DOUBLE_BAND) or doubled.lo > 2 * (1 + DOUBLE_BAND):
                row["flags"].append("suspicious")
        loads = (target.work.get("special") or {}).get("load")
        row["latency_ns"] = row["median_ms"] * 1e6 / loads if loads else None
        return row | {"kind": "point", "role": "variant", "warmup_ms": warmed}

    def doubled(self, target: Target) -> statistics.MedianCI:
        """How many times the time of a run one of twice its work takes; its launch counts in both."""
        assert target.doubled is not None
        sampler = measure.device_sampler(target.doubled, clock_step_ns(self.device.index), None, target.sampler.clock)
        ratios = []
        for _ in range(PAIRS):
            (once,), (twice,) = target.sampler.take(1), sampler.take(1)
            ratios.append(twice / once)
        return statistics.ratio_ci(ratios)

    def study(self, name: str, interrupted: bool) -> Study:
        self.recorder.note_other_environments(self.env_hash)
        info = {"name": name, "workload": "microbench", "wall_s": self.ledger.wall_s}
        info["harness_s"] = self.ledger.harness_s
        notes = list(dict.fromkeys(self.recorder.notes))
        if interrupted:
            notes.append("interrupted: what was finished is here and in the file; the same call goes on from there")
        study = Study(self.recorder.rows, info, notes)
        study.interrupted = interrupted
        return study
