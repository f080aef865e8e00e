"""Peers on NVIDIA's GPUs: which device CuPy and PyTorch see, and times by CUDA's events."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gpuopt._core import Device
from gpuopt.lab.timing.samplers import PeerTimes
from gpuopt.signals import let_through


def on_gpu(gpu: int) -> AbstractContextManager[Any]:
    """CuPy works on its current device, whatever holds the arrays."""
    import cupy

    context: AbstractContextManager[Any] = cupy.cuda.Device(gpu)
    return context


QUEUED_RUNS = 128  # behind one spin: a queue holds about a thousand launches, and a run may be several
SPINS = 4  # of one group of runs at most: each longer than what queuing took the host before
LONGEST_S = 0.05  # of a spin
CYCLES_A_SECOND = 4e9  # twice what GPUs have: a spin that is too long costs its time alone


@dataclass(frozen=True)
class Stream:
    """What timing needs of a library: ``spin(cycles)`` queues a kernel that waits, ``event()`` makes an event with the
    methods ``record`` and ``synchronize``, ``passed(event)`` tells whether the device has reached it, and
    ``elapsed_ms(start, stop)`` the time between two."""

    spin: Callable[[int], object]
    event: Callable[[], Any]
    passed: Callable[[Any], bool]
    elapsed_ms: Callable[[Any, Any], float]


def sample_behind_a_spin(stream: Stream, run: Callable[[], object], count: int, batch: int) -> PeerTimes:
    """``count`` times in ms a run, each of ``batch`` runs that were all queued while the device still waited: between
    their events lie the runs and a gap for each, and none of the host's launches. The flag ``launch_inside`` says that
    the host stayed slower than the longest wait."""
    times = PeerTimes()
    queuing = Queuing()
    for _ in range(count):
        times.start_s.append(time.perf_counter())
        total_ms = 0.0
        for first in range(0, batch, QUEUED_RUNS):
            elapsed_ms, apart = _behind_a_spin(stream, run, min(QUEUED_RUNS, batch - first), queuing)
            total_ms += elapsed_ms
            if not apart and "launch_inside" not in times.flags:
                times.flags.append("launch_inside")
        times.append(total_ms / batch)
    return times


@dataclass
class Queuing:
    """What queuing took the host: the seconds of a run, as last seen, and whether runs wait for the device themselves,
    so that the longer the spin, the longer queuing takes, and no spin helps."""

    run_s: float = 0.0
    waits: bool = False


def _behind_a_spin(stream: Stream, run: Callable[[], object], runs: int, queuing: Queuing) -> tuple[float, bool]:
    """Milliseconds of so many runs, and whether all were queued before the first began."""
    outlasted = 0  # spins that queuing took longer than
    for _ in range(1 if queuing.waits else SPINS):
        wait_s = 0.0 if queuing.waits else min(2e-4 + 2 * runs * queuing.run_s, LONGEST_S)
        stream.spin(int(wait_s * CYCLES_A_SECOND))
        begin = time.perf_counter()
        start, stop = stream.event(), stream.event()
        start.record()
        for _ in range(runs):
            run()
        stop.record()
        apart = not stream.passed(start)
        spent_s = time.perf_counter() - begin
        queuing.run_s = spent_s / runs
        stop.synchronize()
        elapsed_ms = float(stream.elapsed_ms(start, stop))
        if apart:
            break
        outlasted += spent_s >= wait_s
        queuing.waits = queuing.waits or (outlasted > 1 and wait_s == LONGEST_S)
        if queuing.waits:
            break
    return elapsed_ms, apart


@dataclass(frozen=True)
class CupyProduct:
    """The two factors of a product, as CuPy's arrays on the GPU of this number."""

    left: Any
    right: Any
    gpu: int


def cupy_run(product: CupyProduct) -> Any:
    with on_gpu(product.gpu):
        return product.left @ product.right


def cupy_sample(product: CupyProduct, count: int, batch: int) -> list[float]:
    """Times of products, as :func:`sample_behind_a_spin` takes them."""
    import cupy

    with on_gpu(product.gpu):
        stream = Stream(
            spin=lambda cycles: _cupy_spin(product.gpu)((1,), (1,), (cycles,)),
            event=cupy.cuda.Event,
            passed=lambda event: bool(event.done),
            elapsed_ms=cupy.cuda.get_elapsed_time,
        )
        return sample_behind_a_spin(stream, lambda: product.left @ product.right, count, batch)


SPIN = """extern "C" __global__ void spin(long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {}
}"""


@cache
def _cupy_spin(gpu: int) -> Any:
    """A kernel that waits so many clock cycles, built for the current device, which has this number."""
    import cupy

    return cupy.RawKernel(SPIN, "spin")


def cupy_fetch(result: Any) -> np.ndarray:
    import cupy

    fetched: np.ndarray = cupy.asnumpy(result)
    return fetched


def imports(module: str, name: str, notes: list[str]) -> bool:
    """Whether a peer's package is installed and can be imported; of one that is installed and cannot, as where a
    library is missing, ``notes`` say why."""
    if importlib.util.find_spec(module) is None:
        return False
    try:
        importlib.import_module(module)
    except Exception as error:  # a half-installed package may fail in any way it likes
        let_through(error)
        notes.append(f"{name} is left out: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        return False
    return True


def cupy_device(device: Device, notes: list[str]) -> int | None:
    """The number that CUDA gives to this OpenCL device; None where CuPy cannot be held against it, which ``notes`` say
    if it is installed."""
    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        import cupy

        runtime = cupy.cuda.runtime
        count, pci = int(runtime.getDeviceCount()), getattr(device, "pci", None)
        if count == 1:
            return 0
        if count and pci:
            return int(runtime.deviceGetByPCIBusId(pci))
        why = f"it sees {count} GPUs, and which of them is {device.name} cannot be told"
    except Exception as error:  # a half-installed package may fail in any way it likes
        let_through(error)
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    notes.append(f"CuPy and cuSPARSE are left out: {why}")
    return None


def torch_sample(run: Callable[[], Any], count: int, batch: int) -> list[float]:
    """Times of ``run``, as :func:`sample_behind_a_spin` takes them."""
    import torch

    stream = Stream(
        spin=torch.cuda._sleep,
        event=lambda: torch.cuda.Event(enable_timing=True),
        passed=lambda event: bool(event.query()),
        elapsed_ms=lambda start, stop: start.elapsed_time(stop),
    )
    return sample_behind_a_spin(stream, run, count, batch)


def torch_sees(device: Device, notes: list[str]) -> bool:
    """Whether PyTorch is installed and sees this GPU; ``notes`` say where it cannot be held against it."""
    if not imports("torch", "PyTorch", notes):
        return False
    import torch

    if not torch.cuda.is_available():
        return False
    if torch.cuda.device_count() > 1:
        notes.append(f"PyTorch is left out: it sees several GPUs, and which of them is {device.name} cannot be told")
        return False
    return True
