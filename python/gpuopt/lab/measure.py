"""Taking numbers that mean something: check, warm up, sample until the interval is narrow, check again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import MismatchError, Prepared
from gpuopt.configuration import Configuration
from gpuopt.lab import statistics
from gpuopt.problems.problem import Bound, Problem


@dataclass(frozen=True)
class Protocol:
    """How much measuring is enough. Times in seconds, targets as fractions; the name stands in every row."""

    name: str
    all_levels: bool  # search every level of every parameter, or take the standard one
    warm_up_s: float
    warm_up_cap_s: float
    search_min_s: float
    search_cap_s: float
    search_target: float  # half-width of the median's interval at which a search stops
    visit_s: float  # samples of one visit in a block; at least `visit_samples`
    visit_samples: int
    blocks: tuple[int, ...]  # block counts at which a comparison may stop
    block_tries: int  # a block whose baseline drifts is taken again, up to this many times in all
    target: float  # half-width at which it does


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        # One level a parameter, a fixed budget, intervals as obtained.
        Protocol("quick", False, 0.05, 0.25, 0.0, 0.0, 1.0, 0.03, 3, (10,), 1, 1.0),
        Protocol("full", True, 0.1, 2.0, 0.2, 5.0, 0.01, 0.04, 3, statistics.BLOCK_STEPS, 3, 0.01),
    )
}


class Ledger:
    """Where the wall time of a sweep went; what no entry claims is the lab's own cost."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.perf_counter() - begin

    @property
    def wall_s(self) -> float:
        return time.perf_counter() - self.start

    @property
    def harness_s(self) -> float:
        return self.wall_s - sum(self.spent.values())


def compare(result: np.ndarray, reference: np.ndarray, tolerance: np.ndarray) -> dict[str, float]:
    """Errors of ``result`` against the float64 ``reference``; raises MismatchError naming the worst element.

    Infinities and NaN must stand where the reference has them. ``max_ulp`` is in units of the last place of
    ``result``'s dtype.
    """
    if result.shape != reference.shape:
        raise MismatchError(f"the result's shape is {result.shape}, the reference's {reference.shape}")
    finite = np.isfinite(reference)
    got = result.astype(np.float64)
    same = np.where(np.isnan(reference), np.isnan(got), got == reference)
    error = np.abs(np.where(finite, got - np.where(finite, reference, 0.0), np.where(same, 0.0, np.inf)))
    wrong = ~(error <= np.where(finite, tolerance, 0.0))  # NaN errors count as wrong
    scale = np.abs(np.where(finite, reference, 0.0))
    if wrong.any():
        flat = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        at = tuple(int(i) for i in np.unravel_index(flat, error.shape))
        raise MismatchError(
            f"{int(wrong.sum())} of {wrong.size} elements are off; the worst, {at}, is {got[at]:.9g} instead of "
            f"{reference[at]:.9g} (allowed {float(np.broadcast_to(tolerance, error.shape)[at]):.3g})"
        )
    if error.size == 0:
        return {"max_abs": 0.0, "max_rel": 0.0, "max_ulp": 0.0, "l2_rel": 0.0, "tol": 0.0}
    tiny = np.finfo(np.float64).tiny
    norm = float(np.linalg.norm(scale.ravel()))
    return {
        "max_abs": float(error.max()),
        "max_rel": float((error / np.maximum(scale, tiny))[scale > 0].max(initial=0.0)),
        "max_ulp": float((error / np.spacing(scale.astype(result.dtype)).astype(np.float64)).max()),
        "l2_rel": float(np.linalg.norm(error.ravel())) / norm if norm else 0.0,
        "tol": float(np.max(tolerance)),
    }


def verify(bound: Bound, problem: Problem, configuration: Configuration) -> dict[str, Any]:
    """Poisons the output, runs once, and holds the result against the reference and the guard zones. Raises
    MismatchError."""
    tolerance = problem.tolerance_for(configuration)
    bound.output.fill_bytes(0xFF)
    bound.prepared.run()
    errors: dict[str, Any] = compare(bound.output.to_numpy(), problem.reference, tolerance)
    if not bound.output.guards_intact():
        raise MismatchError("the kernel wrote outside its output")
    errors["canary_ok"] = True
    return errors


def check_again(bound: Bound, problem: Problem, configuration: Configuration) -> None:
    """After timing: the output of the last sample must still be right, so accumulation and races show."""
    compare(bound.output.to_numpy(), problem.reference, problem.tolerance_for(configuration))
    if not bound.output.guards_intact():
        raise MismatchError("the kernel wrote outside its output while it was timed")


@dataclass
class Sampler:
    """A source of times in milliseconds a run, with the clock that they come from."""

    take: Callable[[int], list[float]]
    clock: str
    batch_n: int = 1
    queued_ms: list[float] = field(default_factory=list)
    wall_ms: list[float] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


SHORT_S = 50e-6  # below this, or 100 clock steps, runs are queued behind a gate and timed together
BATCH_SPAN_S = 1e-3


def batch_for(prepared: Prepared, timer_ns: float, clock: str | None = None) -> int:
    """Runs to time together: 1, or for a short plan (or the clock "batch") as many as span a millisecond."""
    if clock == "event":
        return 1
    once = float(np.median(prepared.sample(3)["device_ms"])) * 1e-3
    if clock is None and once >= max(SHORT_S, 100 * timer_ns * 1e-9):
        return 1
    return max(2, batch_spanning(once))


def batch_spanning(once_s: float) -> int:
    """How many runs of ``once_s`` seconds span a millisecond; 1000 at most."""
    return max(1, min(int(np.ceil(BATCH_SPAN_S / max(once_s, 1e-6))), 1000))


def device_sampler(
    prepared: Prepared, timer_ns: float, flush: Callable[[], None] | None = None, clock: str | None = None
) -> Sampler:
    """Times by device events; short kernels in batches, so that neither the clock's step nor the launch is what is
    measured.

    With ``flush``, every sample is single and follows a flush of the caches. ``clock`` ("event" or "batch") repeats an
    earlier decision: a time near the limit may fall on either side of it.
    """
    sampler = Sampler(lambda count: [], "event")
    batch = batch_for(prepared, timer_ns, clock) if flush is None else 1
    if batch > 1:
        sampler.clock, sampler.batch_n = "batch", batch

    def take(count: int) -> list[float]:
        if flush is None:
            got = prepared.sample(count, batch)
        else:
            got = {"device_ms": [], "queued_ms": [], "wall_ms": []}
            for _ in range(count):
                flush()
                for name, values in prepared.sample(1).items():
                    got.setdefault(name, []).extend(values)
        sampler.queued_ms.extend(got["queued_ms"])
        sampler.wall_ms.extend(got["wall_ms"])
        times: list[float] = got["device_ms"]
        if count and min(times) <= 0 and "optimised_away" not in sampler.flags:
            sampler.flags.append("optimised_away")
        return times

    sampler.take = take
    return sampler


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

    return Sampler(take, "wall")


def queued_sampler(
    sample: Callable[[int, int], list[float]],
    flush: Callable[[], None] | None = None,
    clock: str | None = None,
) -> Sampler:
    """Times by somebody else's device clock: ``sample(count, batch)`` gives ms a run of ``batch`` runs queued together.

    A single run between two of its events holds the host's way to the launch as well, so that whatever is shorter than
    a millisecond is taken in batches. ``flush`` and ``clock`` as in :func:`device_sampler`.
    """
    if flush is not None:

        def take(count: int) -> list[float]:
            times = []
            for _ in range(count):
                flush()
                times += sample(1, 1)
            return times

        return Sampler(take, "event")
    batch = 1 if clock == "event" else batch_spanning(float(np.median(sample(3, 1))) * 1e-3)
    batch = max(batch, 2) if clock == "batch" else batch
    return Sampler(lambda count: sample(count, batch), "batch" if batch > 1 else "event", batch)


def warm_up(sampler: Sampler, protocol: Protocol) -> float:
    """Runs until the median of the last ten times moves by less than 1 %, between the protocol's two times; returns
    milliseconds."""
    begin = time.perf_counter()
    times: list[float] = []
    previous = np.inf
    while True:
        times += sampler.take(1 if len(times) < 10 else 5)
        spent = time.perf_counter() - begin
        median = float(np.median(times[-10:]))
        settled = len(times) >= 10 and abs(median - previous) < 0.01 * median
        if spent >= protocol.warm_up_cap_s or (settled and spent >= protocol.warm_up_s):
            return spent * 1e3
        previous = median


def search_samples(sampler: Sampler, protocol: Protocol, timer_ns: float) -> tuple[list[float], list[str]]:
    """Samples until the protocol's target or cap; the flag ``unconverged`` says it was the cap."""
    begin = time.perf_counter()
    times = sampler.take(10)
    while True:
        spent = time.perf_counter() - begin
        enough = statistics.converged(
            times,
            protocol.search_target,
            spent_s=spent,
            min_spent_s=protocol.search_min_s,
            resolution=timer_ns * 1e-6,
            batch=sampler.batch_n,
        )
        if enough:
            return times, []
        if spent >= protocol.search_cap_s:
            return times, ["unconverged"]
        times += sampler.take(visit_count(times, 0.05, 3))


def visit_count(times: Sequence[float], seconds: float, least: int) -> int:
    """How many samples fill ``seconds``, judged by times in ms taken before."""
    typical = float(np.median(times)) * 1e-3
    return max(least, min(int(np.ceil(seconds / max(typical, 1e-6))), 2000))


def visit(sampler: Sampler, protocol: Protocol) -> list[float]:
    """One visit in a block: a discarded run, then the samples."""
    first = sampler.take(1)
    return sampler.take(visit_count([first[0] * sampler.batch_n], protocol.visit_s, protocol.visit_samples))
