"""A worker that several plans and threads ask: what one verification fills is what it runs on and reads."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import lab
from gpuopt.lab.device import conditions
from gpuopt.lab.kernels.frames import ClosedError, receive, send
from gpuopt.lab.kernels.remote import RemotePlan
from gpuopt.lab.kernels.worker import WORKERS, KernelCrashError, Worker


def test_a_worker_is_not_replaced_between_the_questions_of_a_plan(
    device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next worker's memory has no poison in it."""
    kernel = own_kernels.scaled()
    problem, (configuration,) = kernel.problem(n=100), kernel.configurations(n=100)
    plan = problem.prepare(configuration, device).prepared
    before = WORKERS.generation[device.index]
    monkeypatch.setattr("gpuopt.lab.kernels.worker.RECYCLED", 1)
    plan.ask("ready", "filling its memory", seed=1, keep_scratch=False, inverted=False)
    plan.run()
    plan.ask("take", "reading its results")
    assert WORKERS.generation[device.index] == before
    problem.prepare(configuration, device)
    assert WORKERS.generation[device.index] == before + 1


def test_threads_with_many_kernels_find_each_right(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that made room for another thread's plan took along what this one had filled."""
    monkeypatch.setattr("gpuopt.lab.kernels.worker.RECYCLED", 2)
    kernel = own_kernels.scaled()
    start = threading.Barrier(3)

    def checked(number: int) -> None:
        start.wait()
        for turn in range(2):
            kernel.check(n=64 + 8 * number + turn, device=any_device)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(checked, range(3)))


def test_an_answer_that_was_given_up_is_nobodys(any_device: gpuopt.Device) -> None:
    held = WORKERS.of(any_device)
    held.owes = True  # as an interrupt leaves it that came before the process was killed
    following = WORKERS.of(any_device)
    assert following is not held
    assert not held.is_alive


def test_a_crash_quotes_what_its_own_kernel_printed(any_device: gpuopt.Device) -> None:
    """It quoted the build of another kernel, which had failed before."""
    text = """
    __kernel void odd(__global float* z) {
    #if KIND == 1
        does not build;
    #elif KIND == 2
        for (long k = 0; k < 64; ++k) z[(1L << 40) + (k << 30)] = 1;
    #endif
        z[get_global_id(0)] = 1;
    }"""
    kernel = lab.Kernel(
        text,
        "odd",
        parameters={"KIND": [0, 1, 2]},
        arguments=[lab.output("z", "n")],
        launch=lab.launch(items="n"),
        reference=lambda n: np.ones(n),
    )
    with pytest.raises(gpuopt.KernelBuildError):
        kernel.check(n=64, configuration={"KIND": 1}, device=any_device)
    with pytest.raises(KernelCrashError, match="ended its process") as caught:
        kernel.check(n=64, configuration={"KIND": 2}, device=any_device)
    assert "error" not in str(caught.value)


def test_a_kill_that_is_interrupted_is_finished_by_the_next(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(any_device)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("gpuopt.lab.kernels.worker.os.killpg", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.kill()
    assert worker.is_alive
    worker.kill()
    assert not worker.is_alive
    assert worker.process.pid not in conditions.OWN_PROCESSES


def test_paths_that_import_passes_over_are_passed_over(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path, b"bytes"])
    worker = Worker(any_device)
    assert worker.is_alive
    worker.close()


@pytest.mark.parametrize(
    "header",
    [
        b"no JSON",
        b'{"message": 1}',
        b'{"arrays": [["z", "float33", [1]]]}',
        b'{"arrays": [["z", "f4", [-1]]]}',
        b"[" * 10**5,
    ],
    ids=range(5),
)
def test_a_message_of_a_worker_whose_memory_a_kernel_wrote_over(header: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack("<QQ", len(header), 0) + header)
        with pytest.raises(ClosedError, match="cannot be read"):
            receive(ours)
        send(theirs, {"answer": 1}, {"z": np.arange(3)})
        assert receive(ours)[1]["z"].tolist() == [0, 1, 2]


def test_a_result_that_the_host_does_not_hold_is_no_fault_of_its_kernel() -> None:
    ours, theirs = socket.socketpair()
    header = b'{"arrays": [["z", "f4", [17592186044416]]]}'
    with ours, theirs:
        theirs.sendall(struct.pack("<QQ", len(header), 0) + header)
        with pytest.raises(MemoryError):
            receive(ours)


def test_our_workers_are_no_other_processes_of_the_gpu(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each study of somebody's kernel told its own worker as another process."""
    monkeypatch.setattr(conditions, "gpu_processes", lambda device: 2)
    monkeypatch.setattr(conditions, "OWN_PROCESSES", {7: any_device.index, 8: any_device.index + 1})
    assert conditions.other_gpu_processes(any_device) == 1
    assert conditions.other_gpu_processes(None) is None


def test_a_judgement_on_a_device_whose_clock_shows_no_time(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It told 0 ms, and that the device had no profile."""
    sample = RemotePlan.sample

    def without_clock(self: RemotePlan, *given: Any, **more: Any) -> dict[str, list[float]]:
        taken = sample(self, *given, **more)
        return {**taken, "device_ms": [0.0] * len(taken["device_ms"])}

    monkeypatch.setattr(RemotePlan, "sample", without_clock)
    found = lab.judge(own_kernels.SCALE, own_kernels.scaled(), device=any_device, level="quick", n=64)
    assert found.ok
    assert found.median_ms is not None
    assert found.median_ms > 0
