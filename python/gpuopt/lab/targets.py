"""What is visited in a block: a configuration of ours, a peer, or a ceiling; each verified, each with the fields of
its row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuopt._core import (
    Device,
    DeviceMemoryError,
    Error,
    KernelBuildError,
    MismatchError,
    OpenCLError,
    Prepared,
    UnsupportedError,
)
from gpuopt.configuration import Configuration
from gpuopt.lab import measure
from gpuopt.lab.bounds import BandwidthTest
from gpuopt.lab.measure import Ledger, Sampler
from gpuopt.lab.peers import Peer
from gpuopt.problems.problem import Bound, Problem

Row = dict[str, Any]


def status_of(error: Exception) -> str:
    """The status word of a configuration that raised ``error``."""
    if isinstance(error, UnsupportedError):
        return "unsupported" if getattr(error, "because", "device") == "device" else "constraints"
    words: dict[type[Exception], str] = {
        KernelBuildError: "compile",
        MismatchError: "wrong",
        OpenCLError: "runtime",
        DeviceMemoryError: "runtime",
    }
    return next((word for kind, word in words.items() if isinstance(error, kind)), "runtime")


@dataclass
class Target:
    """Something with a sampler, once it was verified. ``fields`` go into each of its rows."""

    label: str
    role: str
    fields: Row
    sampler: Sampler
    check: Callable[[], Any]  # raises MismatchError; also called after timing
    bytes: dict[str, float] = field(default_factory=dict)
    flops: float | None = None


def problem_fields(
    problem: Problem, device: Device, protocol: str, cache_state: str, environment_hash: str | None
) -> Row:
    """What all rows of a sweep have in common."""
    return {
        "workload": problem.workload,
        "problem": problem.name,
        "dtype": problem.dtype.name,
        "sizes": dict(problem.sizes),
        "seed": problem.seed,
        "cache_state": cache_state,
        "device": device.name,
        "driver": device.driver,
        "platform": device.platform,
        "protocol": protocol,
        "env_hash": environment_hash,
    }


def kernel_fields(prepared: Prepared) -> Row:
    """What is known of a plan's main kernel, and the build times of all."""
    kernels = prepared.kernels
    main = kernels[prepared.main_step]
    return {
        "global_size": main["global_size"],
        "local_size": main["local_size"],
        "options": main["options"],
        "source_sha256": main["source_sha256"],
        "binary_sha256": main["binary_sha256"],
        "registers": main["registers"],
        "spill_bytes": main["spill_bytes"],
        "local_bytes": main["local_bytes"],
        "private_bytes": main["private_bytes"],
        "build_ms": sum(kernel["build_ms"] for kernel in kernels),
    }


def variant_target(
    problem: Problem,
    configuration: Configuration,
    preset: str | None,
    device: Device,
    common: Row,
    ledger: Ledger,
    flush: Callable[[], None] | None,
    clock_of: Callable[[Row], str | None],
) -> Target:
    """A configuration, built, bound and verified; ``clock_of`` its fields is the clock of rows to go on from, if any.

    Raises what forbids it.
    """
    with ledger("build and upload"):
        bound: Bound = problem.prepare(configuration, device)
    with ledger("verify"):
        errors = measure.verify(bound, problem)
    work = bound.work
    fields = common | kernel_fields(bound.prepared) | errors
    fields |= {
        "variant": configuration.variant,
        "configuration": str(configuration),
        "params": configuration.parameters,
        "preset": preset,
        "vector_width": configuration.parameters.get("WIDTH"),
        "flops": work["flops"],
        "bytes": work["bytes"],
    }
    with ledger("warm-up"):
        sampler = measure.device_sampler(bound.prepared, device.timer_ns, flush, clock_of(fields))
    fields["clock"] = sampler.clock

    def check() -> None:
        measure.check_again(bound, problem)

    return Target(str(configuration), "variant", fields, sampler, check, work["bytes"], work["flops"])


def peer_target(problem: Problem, peer: Peer, common: Row, ledger: Ledger) -> Target:
    """A peer with its state made and its result verified. Raises whatever the peer raises."""
    with ledger("build and upload"):
        state = peer.prepare(problem)

    def check() -> dict[str, float]:
        return measure.compare(np.asarray(peer.fetch(peer.run(state))), problem.reference, problem.tolerance)

    with ledger("verify"):
        errors = check()
    own_clock = peer.sample
    if own_clock is None:
        sampler = measure.wall_sampler(lambda: peer.run(state))
    else:
        sampler = Sampler(lambda count: own_clock(state, count), "event")
    flops = 2.0 * problem.sizes["nnz_range"] if "nnz_range" in problem.sizes else None
    fields = (
        common
        | errors
        | {
            "variant": peer.name,
            "configuration": peer.name,
            "params": {},
            "options": peer.platform,
            "platform": peer.platform,
            "source_sha256": None,
            "local_size": None,
            "global_size": None,
            "clock": sampler.clock,
            "flops": flops,
        }
    )
    return Target(peer.name, "peer", fields, sampler, check, {}, flops)


def ceiling_targets(
    device: Device, footprint_bytes: int, common: Row, ledger: Ledger, flush: Callable[[], None] | None, keep: int = 2
) -> list[Target]:
    """The fastest read and the fastest copy at this footprint (``keep`` of each), out of the whole family."""
    with ledger("ceilings"):
        test = BandwidthTest(device, footprint_bytes)
        found = sorted(test.candidates(), key=lambda item: -item[2])
    targets = []
    for kind in ("read", "copy"):
        for configuration, prepared, _ in [item for item in found if item[0].variant.startswith(kind)][:keep]:
            with ledger("ceilings"):
                sampler = measure.device_sampler(prepared, device.timer_ns, flush)
            fields = common | kernel_fields(prepared)
            fields |= {
                "workload": "microbench",
                "dtype": "float32",
                "variant": configuration.variant,
                "configuration": str(configuration),
                "params": configuration.parameters,
                "vector_width": configuration.parameters.get("WIDTH"),
                "sizes": {"bytes": footprint_bytes},
                "clock": sampler.clock,
                "bytes": prepared.work["bytes"],
            }
            targets.append(Target(str(configuration), "ceiling", fields, sampler, lambda: None, prepared.work["bytes"]))
    if not targets:
        raise Error(f"no bandwidth kernel runs on {device.name}: there is no ceiling to hold a bound against")
    return targets
