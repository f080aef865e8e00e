"""Times of peers by CUDA's events, on a stream that is made up: kernels that wait, and a host that takes its time."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpuopt.lab.run import cuda
from gpuopt.lab.timing import samplers
from gpuopt.lab.timing.samplers import PeerTimes


class Gpu:
    """A queue that works while the host queues. Times in ms: of a run, of the gap before each kernel, and of the host
    to queue one. ``room`` is how many kernels the queue holds before the host has to wait."""

    def __init__(self, run_ms: float, gap_ms: float, host_ms: float, room: int = 1 << 20) -> None:
        self.run_ms, self.gap_ms, self.host_ms, self.room = run_ms, gap_ms, host_ms, room
        self.now = self.free_at = 0.0  # of the host; when the device has done all that is queued
        self.ends: list[float] = []  # of the kernels
        self.spins: list[float] = []

    def kernel(self, ms: float) -> None:
        self.now += self.host_ms
        waiting = [end for end in self.ends if end > self.now]
        if len(waiting) >= self.room:
            self.now = waiting[-self.room]
        self.free_at = max(self.free_at + self.gap_ms, self.now) + ms
        self.ends.append(self.free_at)

    def run(self) -> None:
        self.kernel(self.run_ms)

    def spin(self, cycles: int) -> None:
        self.spins.append(cycles / 2e6)  # at 2 GHz
        self.kernel(self.spins[-1])

    def event(self) -> Any:
        found = SimpleNamespace(at=0.0)
        found.record = lambda: setattr(found, "at", max(self.free_at, self.now))
        found.synchronize = lambda: setattr(self, "now", max(self.now, found.at))
        return found

    def stream(self) -> cuda.Stream:
        return cuda.Stream(
            self.spin, self.event, lambda event: event.at <= self.now, lambda start, stop: stop.at - start.at
        )


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Gpu, int, int], PeerTimes]:
    def sample(gpu: Gpu, count: int, batch: int) -> PeerTimes:
        monkeypatch.setattr(cuda.time, "perf_counter", lambda: gpu.now * 1e-3)
        return cuda.sample_behind_a_spin(gpu.stream(), gpu.run, count, batch)

    return sample


@pytest.mark.parametrize("batch", [1, 2, 100, 1000])
@pytest.mark.parametrize("host_ms", [0.002, 0.05])
def test_the_hosts_launches_are_outside(timed: Any, batch: int, host_ms: float) -> None:
    """Runs of 3 us with gaps of 1, launched in 2 or 50 us each: between two events alone these would be 4 or 50."""
    gpu = Gpu(0.003, 0.001, host_ms)
    found = timed(gpu, 3, batch)
    assert list(found) == pytest.approx([0.004] * 3)
    assert found.flags == []
    assert found.start_s == sorted(found.start_s)
    assert len(found.start_s) == 3


def test_a_spin_that_was_too_short_is_made_longer(timed: Any) -> None:
    gpu = Gpu(0.003, 0.001, 1.0)
    assert list(timed(gpu, 1, 50)) == pytest.approx([0.004])
    assert len(gpu.spins) == 2
    assert gpu.spins[0] < 50 < gpu.spins[1]


def test_a_host_that_stays_slower_is_told(timed: Any) -> None:
    gpu = Gpu(0.003, 0.001, 0.05, room=20)  # the host waits for the spin itself
    found = timed(gpu, 2, 50)
    assert found.flags == ["launch_inside"]
    assert len(gpu.spins) <= cuda.SPINS + 1
    assert gpu.spins[-1] == 0
    assert max(gpu.spins) <= 2e3 * cuda.LONGEST_S


def test_no_spin_helps_where_runs_wait_for_the_device(timed: Any) -> None:
    class Waiting(Gpu):
        def run(self) -> None:
            self.kernel(self.run_ms)
            self.now = max(self.now, self.free_at)

    gpu = Waiting(10.0, 0.001, 0.002)
    found = timed(gpu, 5, 1)
    assert found.flags == ["launch_inside"]
    assert sum(gpu.spins) < 300
    assert gpu.spins[-4:] == [0.0] * 4


def test_a_visit_says_what_its_peer_said(timed: Any) -> None:
    for room, flags in ((1 << 20, []), (20, ["launch_inside"])):
        gpu = Gpu(0.003, 0.001, 0.05, room)
        sampler = samplers.queued_sampler(lambda count, batch, gpu=gpu: timed(gpu, count, batch))  # type: ignore[misc]
        assert (sampler.clock, sampler.batch_n) == ("batch", 251)
        sampler.begin()
        found = sampler.taken(sampler.take(3))
        assert found.flags == flags
        assert len(found.start_s) == 3
        cold = samplers.queued_sampler(lambda count, batch, gpu=gpu: timed(gpu, count, batch), lambda: None)  # type: ignore[misc]
        assert (cold.take(2), cold.clock, len(cold.told.start_s)) == (pytest.approx([0.004] * 2), "event", 2)


# ---------------------------------------------------------------- the libraries


class Matrix:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu

    def __matmul__(self, x: object) -> None:
        self.gpu.run()


def test_cupy_products_are_queued_behind_a_kernel_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(0.003, 0.001, 0.05)
    built: list[str] = []

    def raw_kernel(source: str, name: str) -> Any:
        built.append(name)
        assert f"void {name}(long long" in source
        return lambda grid, block, arguments: gpu.spin(*arguments)

    class Event:
        def __init__(self) -> None:
            self.of = gpu.event()
            self.record, self.synchronize = self.of.record, self.of.synchronize

        @property
        def done(self) -> bool:
            return bool(self.of.at <= gpu.now)

    cupy: Any = ModuleType("cupy")
    cupy.RawKernel = raw_kernel
    cupy.cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda start, stop: stop.of.at - start.of.at)
    cupy.cuda.Device = lambda number: contextlib.nullcontext()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(cuda.time, "perf_counter", lambda: gpu.now * 1e-3)
    cuda._cupy_spin.cache_clear()
    state = cuda.CupyProduct(Matrix(gpu), None, 0)
    assert cuda.cupy_sample(state, 2, 1) == pytest.approx([0.004] * 2)
    assert cuda.cupy_sample(state, 3, 100) == pytest.approx([0.004] * 3)
    assert built == ["spin"]
    cuda._cupy_spin.cache_clear()


def test_torch_products_are_queued_behind_its_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(0.003, 0.001, 0.05)

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing
            self.of = gpu.event()
            self.record, self.synchronize = self.of.record, self.of.synchronize

        def query(self) -> bool:
            return bool(self.of.at <= gpu.now)

        def elapsed_time(self, stop: Event) -> float:
            return float(stop.of.at - self.of.at)

    torch: Any = ModuleType("torch")
    torch.cuda = SimpleNamespace(_sleep=gpu.spin, Event=Event)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(cuda.time, "perf_counter", lambda: gpu.now * 1e-3)
    assert cuda.torch_sample(gpu.run, 3, 100) == pytest.approx([0.004] * 3)
