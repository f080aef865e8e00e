"""Workers that do not start, do not end, or find no memory: what is told, and that the study goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt.checked import HostMemoryError
from gpuopt.lab.device import conditions
from gpuopt.lab.kernels import worker as workers
from gpuopt.lab.kernels.remote import RemotePlan
from gpuopt.lab.kernels.worker import WORKERS, Worker, WorkerLostError


def opened() -> set[str]:
    """This process's descriptors."""
    return {name for name in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{name}").exists()}


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("subprocess.Popen", OSError(11, "Resource temporarily unavailable")),
        ("socket.socketpair", OSError(24, "Too many open files")),
        ("os.pipe", OSError(24, "Too many open files")),
        ("threading.Thread.start", RuntimeError("can't start new thread")),
    ],
    ids=["process", "socket", "pipe", "thread"],
)
def test_a_worker_that_does_not_start_is_told_as_an_error(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, place: str, why: Exception
) -> None:
    """It was told as a fault of gpuopt, which ended the study."""

    def refused(*_: object, **__: object) -> None:
        raise why

    before, known = opened(), dict(conditions.OWN_PROCESSES)
    with monkeypatch.context() as patched:
        patched.setattr(f"gpuopt.lab.kernels.worker.{place}", refused)
        with pytest.raises(gpuopt.Error, match="no process for kernels starts") as caught:
            Worker(any_device)
    assert caught.value.__cause__ is why
    assert opened() == before
    assert known == conditions.OWN_PROCESSES


def test_a_handlers_error_while_a_worker_starts_stays_as_it_is(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handler(number: int, frame: types.FrameType) -> None:
        raise TimeoutError("time is over")

    def interrupted(*_: object, **__: object) -> None:
        handler(14, sys._getframe())

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    with pytest.raises(TimeoutError, match="time is over"):
        Worker(any_device)


@pytest.fixture
def unending(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    """A worker that no signal to its group ends."""
    worker = WORKERS.of(any_device)
    with monkeypatch.context() as patched:
        patched.setattr("gpuopt.lab.kernels.worker.os.killpg", lambda *_: None)
        patched.setattr(workers, "KILL_S", 0.1)
        yield worker
    worker.process.kill()
    worker.process.wait()


def test_a_device_whose_worker_does_not_end_gets_no_second(any_device: gpuopt.Device, unending: Worker) -> None:
    """Times were taken beside what still ran there."""
    kernel = own_kernels.scaled()
    problem, (configuration,) = kernel.problem(n=100), kernel.configurations(n=100)
    plan, other = (problem.prepare(configuration, any_device).prepared for _ in range(2))
    held, generation = unending, WORKERS.generation[any_device.index]
    with pytest.raises(WorkerLostError) as caught:
        held.kill()
    for asked in (lambda: WORKERS.of(any_device), other.run, plan.run, held.kill):
        with pytest.raises(WorkerLostError):
            asked()
    assert WORKERS.generation[any_device.index] == generation
    assert held.process.pid in conditions.OWN_PROCESSES
    held.process.kill()
    held.process.wait()
    assert isinstance(plan, RemotePlan)
    assert plan.ended is None
    plan.run()  # it has ended after all
    assert WORKERS.of(any_device) is not held
    assert held.process.pid not in conditions.OWN_PROCESSES
    assert "restart the machine" in str(caught.value)


def test_a_kernel_whose_worker_does_not_end_is_not_tried_again(
    any_device: gpuopt.Device, unending: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = own_kernels.scaled()
    plan = kernel.problem(n=100).prepare(kernel.configurations(n=100)[0], any_device).prepared
    monkeypatch.setattr(plan, "limit_s", -1.0)  # as one that hangs
    monkeypatch.setattr(plan, "seconds", None)
    with pytest.raises(WorkerLostError):
        plan.run()
    unending.process.kill()  # it goes at last
    unending.process.wait()
    with pytest.raises(WorkerLostError):
        plan.run()
    assert WORKERS.of(any_device).is_alive


def test_a_worker_without_memory_is_no_crash_of_its_kernel(any_device: gpuopt.Device) -> None:
    resource = pytest.importorskip("resource")
    worker = Worker(any_device)
    try:
        size = int(Path(f"/proc/{worker.process.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(worker.process.pid, resource.RLIMIT_AS, (size + (16 << 20), resource.RLIM_INFINITY))
        with pytest.raises(HostMemoryError, match="give smaller sizes"):
            worker.ask({"do": "give", "plan": 1}, 60, "filling its memory", {"x": np.zeros(64 << 20, np.uint8)})
        assert not worker.is_alive
    finally:
        worker.close()


def test_what_a_kernel_changes_is_asked_with_time_for_its_memory(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: dict[str, float] = {}
    asked = RemotePlan._asked

    def noted(self: RemotePlan, worker: Any, message: Any, limit_s: float, *rest: Any) -> Any:
        limits[message["do"]] = limit_s
        return asked(self, worker, message, limit_s, *rest)

    monkeypatch.setattr(RemotePlan, "_asked", noted)
    kernel = own_kernels.saxpy()
    bound = kernel.problem(n=1000, limit_s=2).prepare(kernel.configurations(n=1000)[0], any_device)
    bound.prepared.run()
    assert limits["run"] == 2
    assert limits["changes"] > 60
