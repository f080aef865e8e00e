"""What a sweep times: configurations of ours, whole calls, peers, ceilings and launches, each verified and with the
fields of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from gpuopt import _core
from gpuopt._core import (
    Device,
    DeviceArray,
    DeviceMemoryError,
    Error,
    KernelBuildError,
    MismatchError,
    OpenCLError,
    Prepared,
    UnsupportedError,
)
from gpuopt.configuration import Configuration, accuracy
from gpuopt.lab.device import source
from gpuopt.lab.device.bandwidth import BandwidthTest, clock_step_ns
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.rows.facts import Environment
from gpuopt.lab.rows.row_fields import CacheState, Role, Status
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run import clocks, peer_code, peer_inputs, wanted
from gpuopt.lab.run.clocks import ByClock
from gpuopt.lab.run.peer_inputs import PeerInputs
from gpuopt.lab.run.plan_fields import kernel_fields
from gpuopt.lab.timing import samplers, verification
from gpuopt.lab.timing.fields import Clock, Errors
from gpuopt.lab.timing.protocol import PhaseTimer
from gpuopt.lab.timing.samplers import Sampler
from gpuopt.problem import AnyPeer, BoundPlan, Problem, Work, work_of
from gpuopt.signals import of_signal
from gpuopt.unit import unit_of


def status_of(error: Exception) -> Status:
    """The status word of a configuration that raised ``error``."""
    if isinstance(own := getattr(error, "status", None), str):  # of a kernel in a process of its own
        return cast("Status", own)
    if isinstance(error, UnsupportedError):
        return "unsupported" if getattr(error, "because", "device") == "device" else "constraints"
    words: dict[type[Exception], Status] = {
        KernelBuildError: "compile",
        MismatchError: "wrong",
        OpenCLError: "runtime",
        DeviceMemoryError: "runtime",
    }
    return next((word for kind, word in words.items() if isinstance(error, kind)), "runtime")


def failure(error: Exception) -> Row:
    """The fields status and reason of the row of what raised ``error``."""
    return {"status": status_of(error), "reason": " ".join(str(error).split())[:600] or type(error).__name__}


def may_fail(candidate: Candidate, error: Exception) -> bool:
    """Whether the error is a finding about the candidate: one of OpenCL, of memory or of wrong values, or any error of
    a peer. Any other error is a bug of ours, or the caller's own."""
    if of_signal(error) is not None:
        return False
    return candidate.role == "peer" or isinstance(error, (Error, MemoryError))


@dataclass
class Candidate:
    """Something to time, verified. ``fields`` go into each of its rows."""

    label: str
    role: Role
    fields: Row
    sampler: Sampler
    check: Callable[[], object]  # raises MismatchError; also called after timing
    work: Work = field(default_factory=Work)
    source: DeviceArray | None = None  # what it reads most; of a ceiling, whose data it reads, None for its own
    doubled: Prepared | None = None  # the same with twice the work
    prepared: Prepared | None = None  # the plan behind it, whose buffers can be moved
    by_clock: ByClock | None = None  # its samplers, where the device times it: calls and many peers have none

    def use(self, clock: Clock) -> None:
        """Times it by this clock from now on. Raises what its sampler raises."""
        if self.by_clock is not None and clock != self.sampler.clock:
            self.sampler = self.by_clock(clock)
            self.fields["clock"] = self.sampler.clock

    @property
    def bytes(self) -> Mapping[str, float]:
        """Bytes by memory class of one run."""
        return self.work.get("bytes") or {}

    def reads_what(self, other: Candidate) -> bool:
        """Whether this ceiling reads the data of ``other``."""
        return self.source is not None and other.source is not None and self.source.shares_memory(other.source)


def rates(candidate: Candidate, median_ms: float) -> Row:
    """GFLOP/s, GB/s and G results/s at this time, None for work that the candidate does not declare. Bytes are those
    from memory, or those of the only class that is declared. Results are counted in the workload's own unit, else in
    special functions."""
    if median_ms <= 0:
        return {}
    moved = candidate.bytes.get("dram") or (next(iter(candidate.bytes.values())) if len(candidate.bytes) == 1 else None)
    results = sum((candidate.work.get("counted") or candidate.work.get("special") or {}).values())
    return {
        "gop_s": results / median_ms * 1e-6 if results else None,
        "gflop_s": flops / median_ms * 1e-6 if (flops := candidate.work.get("flops")) else None,
        "gb_s": moved / median_ms * 1e-6 if moved else None,
    }


def environment_row(device: Device, facts: Environment) -> Row:
    """The row of kind environment of a run on ``device``."""
    row: Row = {"kind": "environment", "status": "ok", "environment": facts, "env_hash": facts["env_hash"]}
    return row | {"device": device_label(device), "unit": unit_of(device), "commit": source.commit()}


def problem_fields(
    problem: Problem, device: Device, protocol: str, cache_state: CacheState, environment_hash: str | None
) -> Row:
    """What all rows of a sweep have in common."""
    return {
        "workload": problem.workload,
        "problem": problem.name,
        "footprint_bytes": problem.footprint_bytes,
        "dtype": problem.dtype.name,
        "sizes": dict(problem.sizes),
        "seed": problem.seed,
        "data": problem.data,
        "cache_state": cache_state,
        "device": device_label(device),
        "device_type": device.type,
        "driver": device.driver,
        "platform": device.platform,
        "unit": unit_of(device),
        "protocol": protocol,
        "env_hash": environment_hash,
        "commit": source.commit(),
    }


def variant_candidate(
    problem: Problem,
    configuration: Configuration,
    preset: str | None,
    device: Device,
    common: Row,
    phases: PhaseTimer,
    flush: Callable[[], None] | None,
    clock_of: Callable[[Row], Clock | None],
    notes: list[str] | None = None,
) -> Candidate:
    """A configuration, built, bound and verified, on the problem's small awkward ones too. ``notes`` receive why it was
    not on one of these.

    ``clock_of(fields)`` is the clock of stored rows that this one continues; None takes what fits it alone, until
    :meth:`Candidate.use` gives it that of a comparison. Raises whatever the problem, the build or the verification
    raises.
    """
    with phases("build and upload"):
        bound: BoundPlan = problem.prepare(configuration, device)
    with phases("verify"):
        # First where an access far astray does not end the process.
        left_out = verification.verify_awkward(problem, configuration, device)
        errors = verification.verify(bound, problem, configuration)
    if notes is not None:
        notes += left_out
    work: Work = {**bound.work, "counted": problem.counted}
    fields: Row = {**common, **kernel_fields(bound.prepared), **errors, "plan": bound.plan}
    fields |= {
        "variant": configuration.variant,
        "configuration": str(configuration),
        "params": configuration.parameters,
        "accuracy": accuracy(problem.workload, configuration),
        "preset": preset,
        "vector_width": _width(configuration),
        "flops": work["flops"],
        "bytes": work["bytes"],
        "special": work["special"] or None,
        "counted": dict(problem.counted) or None,
    }
    before = clocks.before_each(flush, bound.restore)
    by_clock = clocks.device_clocks(bound.prepared, clock_step_ns(device.index), before)
    with phases("warm-up"):
        sampler = clocks.alone(by_clock, clock_of(fields))
    fields["clock"] = sampler.clock

    def check() -> None:
        verification.check_again(bound, problem, configuration)

    made = Candidate(str(configuration), "variant", fields, sampler, check, work, bound.prepared.source, bound.doubled)
    made.prepared, made.by_clock = bound.prepared, by_clock
    return made


def peer_candidate(
    problem: Problem,
    peer: AnyPeer,
    common: Row,
    phases: PhaseTimer,
    flush: Callable[[], None] | None = None,
    clock_of: Callable[[Row], Clock | None] = lambda fields: None,
    inputs: PeerInputs | None = None,
    notes: list[str] | None = None,
) -> Candidate:
    """A peer with its state made and its result verified; ``clock_of`` as in :func:`variant_candidate`. ``inputs`` are
    shared with other peers, None makes a copy for this one. ``notes`` receive why no stored rows can be this peer's.

    Raises whatever the peer raises, MismatchError also where it changes its inputs.
    """
    own = PeerInputs(problem) if inputs is None else inputs
    code = peer_code.plan(peer, notes)  # of what it holds before it runs
    with phases("build and upload"):
        state, result = peer_inputs.made(peer, own)
    own_clock = peer.sample

    def by_clock(clock: Clock | None) -> Sampler:
        if own_clock is None or clock == "wall":
            return samplers.wall_sampler(lambda: peer.run(state), flush)
        return samplers.queued_sampler(partial(own_clock, state), flush, clock)

    common = common | {"platform": peer.platform, "options": peer.platform, "plan": code}
    allowed = problem.tolerance if peer.tolerance is None else peer.tolerance(own.problem)
    made = _checked(
        problem, "peer", peer.name, result, lambda fields: by_clock(clock_of(fields)), common, phases, allowed
    )
    made.by_clock = None if own_clock is None else by_clock
    return made


def call_candidate(
    problem: Problem,
    name: str,
    device: Device,
    common: Row,
    phases: PhaseTimer,
    flush: Callable[[], None] | None = None,
) -> Candidate:
    """One of the problem's whole calls, verified, by the host's clock. Raises what the call raises."""
    with phases("build and upload"):
        run = problem.calls[name](device)
    common = common | {"options": f"gpuopt {_core.__version__}", "plan": wanted.call_plan(problem, name, device)}
    named = problem.call_configurations.get(name)
    allowed = problem.tolerance if named is None else problem.tolerance_for(named)
    return _checked(problem, "call", name, run, lambda _: samplers.wall_sampler(run, flush), common, phases, allowed)


def _checked(
    problem: Problem,
    role: Role,
    name: str,
    result: Callable[[], Any],
    sampler_of: Callable[[Row], Sampler],
    common: Row,
    phases: PhaseTimer,
    allowed: np.ndarray,
) -> Candidate:
    """The candidate of a call or a peer, of which only the ``result`` is seen; it is held against the reference."""

    def check() -> Errors:
        return verification.compare(problem.seen(np.asarray(result())), problem.reference, allowed)

    with phases("verify"):
        errors = check()
    fields: Row = {**common, **errors, "variant": name, "configuration": name, "params": {}, "flops": problem.flops}
    fields |= {"counted": dict(problem.counted) or None}
    fields |= {"source_sha256": None, "local_size": None, "global_size": None}
    with phases("warm-up"):
        sampler = sampler_of(fields)
    fields["clock"] = sampler.clock
    return Candidate(name, role, fields, sampler, check, {"flops": problem.flops, "counted": problem.counted})


def overhead_candidate(device: Device, common: Row, phases: PhaseTimer, notes: list[str]) -> Candidate:
    """The time of a launch: of the smallest read, queued back to back whatever the comparison's clock, since events
    hold no launch."""
    with phases("ceilings"):
        reads = BandwidthTest(device, 0, notes).candidates("read")
        found = next(reads, None)  # not the fastest: which one that is may differ from run to run
        if found is None:
            raise Error(f"no read kernel runs on {device.name}: the time of a launch cannot be told")
        configuration, prepared, _ = found
        sampler = samplers.device_sampler(prepared, clock_step_ns(device.index), None, "batch")
    fields = _microbench_fields(configuration, prepared, sampler, common, prepared.work["bytes"]["dram"])
    fields |= {"variant": "launch", "configuration": "launch"}
    made = Candidate("launch", "overhead", fields, sampler, lambda: None, work_of(prepared))
    made.prepared = prepared
    return made


def ceiling_candidates(
    device: Device,
    footprint_bytes: int,
    common: Row,
    phases: PhaseTimer,
    flush: Callable[[], None] | None,
    notes: list[str],
    variants: Sequence[Candidate] = (),
    keep: int = 2,
) -> list[Candidate]:
    """The ceilings of memory: the fastest reads and the fastest copies at this footprint, ``keep`` of each, and the
    fastest reads of the data that each of the ``variants`` reads, since the rate depends on where data lie in memory.

    Where the memory has no room for the footprint, a smaller one is taken, and ``notes`` say so.
    """
    with phases("ceilings"):
        test = BandwidthTest.fitting(device, footprint_bytes, notes)
        found = sorted(test.candidates(), key=lambda item: -item[2])
    step_ns = clock_step_ns(device.index)
    candidates = []

    def add(
        configuration: Configuration, prepared: Prepared, size: float, source: DeviceArray | None = None, of: str = ""
    ) -> None:
        by_clock = clocks.device_clocks(prepared, step_ns, flush)
        with phases("ceilings"):
            sampler = clocks.alone(by_clock)
        fields = _microbench_fields(configuration, prepared, sampler, common, size)
        label = str(configuration)
        if of:
            label = f"{configuration} of the data of {of}"
            fields |= {"configuration": label, "params": {**configuration.parameters, "of": of}}
        made = Candidate(label, "ceiling", fields, sampler, lambda: None, work_of(prepared), source)
        made.prepared, made.by_clock = prepared, by_clock
        candidates.append(made)

    for kind in ("read", "copy"):
        for configuration, prepared, _ in [item for item in found if item[0].variant.startswith(kind)][:keep]:
            add(configuration, prepared, test.footprint_bytes)
    reads = [configuration for configuration, _, _ in found if configuration.variant.startswith("read")]
    for variant in variants:
        known = any(candidate.reads_what(variant) for candidate in candidates)
        if variant.source is None or known or variant.role == "clone":
            continue
        for read in reads[:keep]:
            try:
                with phases("ceilings"):
                    prepared = test.of_source(read, variant.source)
                add(read, prepared, variant.source.nbytes, variant.source, variant.label)
            except Error as error:  # no whole number of its vectors, say: the others stand
                notes.append(f"{read} of the data of {variant.label} is no ceiling: {error}")
    if not candidates:
        raise Error(f"no bandwidth kernel runs on {device.name}: there is no ceiling to hold a bound against")
    return candidates


def _microbench_fields(
    configuration: Configuration, prepared: Prepared, sampler: Sampler, common: Row, footprint_bytes: float
) -> Row:
    return {
        **common,
        **kernel_fields(prepared),
        "workload": "microbench",
        "dtype": "float32",
        "variant": configuration.variant,
        "configuration": str(configuration),
        "params": configuration.parameters,
        "vector_width": _width(configuration),
        "sizes": {"bytes": int(footprint_bytes)},
        "clock": sampler.clock,
        "bytes": prepared.work["bytes"],
    }


def _width(configuration: Configuration) -> int | None:
    """Scalars of a vector; a kernel of one's own may have a word or a real number for WIDTH."""
    width = configuration.parameters.get("WIDTH")
    return width if isinstance(width, int) else None
