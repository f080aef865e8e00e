"""What is visited in a block: calls, peers and their clocks, a launch, and configurations that round their inputs."""

from __future__ import annotations

import dataclasses
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, MismatchError, lab, problems
from gpuopt.lab import measure, peers
from gpuopt.lab.measure import PROTOCOLS, Ledger
from gpuopt.lab.targets import call_target, overhead_target, peer_target, problem_fields, variant_target
from gpuopt.problems.problem import Problem


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(48, 32, radius=2, seed=1)


def common(problem: Problem, device: gpuopt.Device) -> dict[str, Any]:
    return problem_fields(problem, device, "quick", "hot", None)


# ---------------------------------------------------------------- clocks of others


@pytest.mark.parametrize(
    ("once_ms", "clock", "batch", "word"),
    [
        (0.1, None, 10, "batch"),
        (0.0001, None, 1000, "batch"),
        (1.0, None, 1, "event"),
        (5.0, None, 1, "event"),
        (0.1, "event", 1, "event"),
        (5.0, "batch", 2, "batch"),
    ],
)
def test_short_products_are_queued_together(once_ms: float, clock: str | None, batch: int, word: str) -> None:
    asked: list[tuple[int, int]] = []

    def sample(count: int, batch: int) -> list[float]:
        asked.append((count, batch))
        return [once_ms] * count

    sampler = measure.queued_sampler(sample, clock=clock)
    assert (sampler.clock, sampler.batch_n) == (word, batch)
    assert sampler.take(4) == [once_ms] * 4
    assert asked[-1] == (4, batch)


def test_a_cold_sample_is_single_and_flushed_whoever_takes_it() -> None:
    log: list[str] = []

    def sample(count: int, batch: int) -> list[float]:
        log.append(f"{count}x{batch}")
        return [0.1] * count

    theirs = measure.queued_sampler(sample, lambda: log.append("flush"))
    assert (theirs.take(2), theirs.clock, theirs.batch_n) == ([0.1, 0.1], "event", 1)
    assert log == ["flush", "1x1", "flush", "1x1"]
    log.clear()
    host = measure.wall_sampler(lambda: log.append("run"), lambda: log.append("flush"))
    assert len(host.take(2)) == 2
    assert log == ["flush", "run", "flush", "run"]


class Product:
    """Stands for a matrix of CuPy: a product moves the stream's clock by its time."""

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    def __matmul__(self, x: object) -> None:
        self.clock[0] += 0.25


def test_cupy_products_share_a_pair_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, launch_gap = [0.0], 0.75
    events: list[float] = []

    class Event:
        at = 0.0

        def record(self) -> None:
            self.at = clock[0]
            events.append(self.at)
            clock[0] += launch_gap  # once an event, whatever is queued behind it

        def synchronize(self) -> None:
            pass

    cupy: Any = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda start, stop: stop.at - start.at)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    state = Product(clock), None
    assert peers._cupy_sample(state, 2, 1) == pytest.approx([1.0, 1.0])
    assert peers._cupy_sample(state, 3, 100) == pytest.approx([0.2575] * 3)
    assert len(events) == 2 * 5


def test_a_stored_clock_is_kept(any_device: gpuopt.Device, problem: Problem) -> None:
    def timed(state: Any, count: int, batch: int) -> list[float]:
        return [0.1] * count

    peer = lab.Peer("other", lambda p: p.reference, lambda y: y, sample=timed)
    fields = common(problem, any_device)
    assert peer_target(problem, peer, fields, Ledger()).sampler.batch_n == 10
    kept = peer_target(problem, peer, fields, Ledger(), clock_of=lambda fields: "event")
    assert (kept.sampler.batch_n, kept.fields["clock"]) == (1, "event")


# ---------------------------------------------------------------- whole calls


def test_calls_return_what_a_user_gets(device: gpuopt.Device, problem: Problem) -> None:
    assert list(problem.calls) == ["gpuopt.spmv(A, x)", "M @ x"]
    for name, make in problem.calls.items():
        result = make(device)()
        assert isinstance(result, np.ndarray), name
        assert (np.abs(result - problem.reference) <= problem.tolerance).all(), name


def test_a_call_is_a_verified_target_of_the_hosts_clock(any_device: gpuopt.Device, problem: Problem) -> None:
    target = call_target(problem, "M @ x", any_device, common(problem, any_device), Ledger())
    assert (target.role, target.sampler.clock, target.label) == ("call", "wall", "M @ x")
    assert target.fields["max_abs"] <= target.fields["tol"]
    assert target.flops == 2 * problem.sizes["nnz_range"]
    assert target.fields["platform"] == any_device.platform
    assert target.bytes == {}
    assert min(target.sampler.take(3)) > 0


def test_a_wrong_call_is_no_target(any_device: gpuopt.Device, problem: Problem) -> None:
    wrong = dataclasses.replace(problem, calls={"wrong": lambda device: lambda: problem.reference + 1})
    with pytest.raises(MismatchError, match="elements are off"):
        call_target(wrong, "wrong", any_device, common(problem, any_device), Ledger())


def test_a_sweep_visits_calls_and_a_launch(
    any_device: gpuopt.Device, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = dataclasses.replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    monkeypatch.setitem(PROTOCOLS, "brief", brief)
    study = lab.sweep(problem, "basic", protocol="brief", device=any_device, peers=())
    made = {row["variant"]: row for row in study.rows if row["kind"] == "summary"}
    assert {"gpuopt.spmv(A, x)", "M @ x", "launch"} <= set(made)
    assert made["M @ x"]["blocks"] == made["launch"]["blocks"] == 10
    assert made["launch"]["batch_n"] > 1
    assert made["basic"]["launches"] == 1
    assert made["basic"]["accuracy"] == ""
    requested = made["basic"]["bytes"]["requested"]
    assert made["basic"]["uncached_ms"] / made["basic"]["bound_ms"] == pytest.approx(
        requested / made["basic"]["bytes"]["dram"], rel=1e-6
    )
    assert "one launch, queued back to back: " in study.to_text(120)
    assert study.speedup("M @ x", "gpuopt.spmv(A, x)").blocks == 10
    alone = lab.sweep(problem, "basic", protocol="brief", device=any_device, peers=(), calls=False)
    assert not [row for row in alone.rows if row["role"] == "call"]


def test_a_failed_call_is_a_row(any_device: gpuopt.Device, problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    brief = dataclasses.replace(PROTOCOLS["quick"], name="brief", warm_up_s=0.0, warm_up_cap_s=0.0, visit_s=1e-4)
    monkeypatch.setitem(PROTOCOLS, "brief", brief)
    wrong = dataclasses.replace(problem, calls={"wrong": lambda device: lambda: problem.reference + 1})
    study = lab.sweep(wrong, "basic", protocol="brief", device=any_device, peers=())
    assert [(r["role"], r["status"]) for r in study.summary] == [("variant", "ok"), ("call", "wrong")]


# ---------------------------------------------------------------- a launch, and rounded inputs


def test_a_launch_is_the_same_kernel_each_time(any_device: gpuopt.Device, problem: Problem) -> None:
    first, second = (overhead_target(any_device, common(problem, any_device), Ledger()) for _ in range(2))
    assert (first.role, first.sampler.clock) == ("overhead", "batch")
    assert first.sampler.batch_n > 1
    assert first.bytes["dram"] <= 16384
    for key in ("source_sha256", "options", "params", "global_size", "sizes"):
        assert first.fields[key] == second.fields[key]


def test_a_rounded_configuration_is_held_to_its_own_tolerance(device: gpuopt.Device, problem: Problem) -> None:
    half = Configuration("padded", HALF=1)
    fields = common(problem, device)
    target = variant_target(problem, half, None, device, fields, Ledger(), None, lambda fields: None)
    assert target.fields["accuracy"] == "HALF=1"
    assert target.fields["tol"] == pytest.approx(problem.tolerance_for(half).max())
    assert target.fields["max_abs"] > problem.tolerance.max() / 10  # fp32 stays far below its worst case
    target.check()
    strict = dataclasses.replace(problem, tolerance_of=None)
    with pytest.raises(MismatchError):
        variant_target(strict, half, None, device, fields, Ledger(), None, lambda fields: None)
