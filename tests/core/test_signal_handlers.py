"""A signal's handler runs within a wait of the call that it interrupts: what it may call there."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gpuopt
from gpuopt import _core, tomo
from gpuopt.signals import deferring, of_signal

# A product takes more than the 100 ms from which on a wait looks at signals. Before, the handler waited for ever.
SCRIPT = """
import signal, sys, time
import numpy as np
import gpuopt

gpuopt.use(int(sys.argv[1]))
small, size, told = np.ones((4, 4), np.float32), 1024, []

def handler(number, frame):
    try:
        gpuopt.to_device(small)
        told.append("computed")
    except gpuopt.Error as error:
        told.append(str(error))

signal.signal(signal.SIGALRM, handler)
while True:
    A = np.ones((size, size), np.float32)
    gpuopt.gemm(A, A)
    start = time.perf_counter()
    gpuopt.gemm(A, A)
    took = time.perf_counter() - start
    if took > 0.3 or size >= 16384:
        break
    size *= 2
for part in (0.3, 0.5, 0.7):
    signal.setitimer(signal.ITIMER_REAL, part * took)
    assert (gpuopt.gemm(A, A) == size).all()
    time.sleep(took)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(told) == 3, told
assert (gpuopt.gemm(small, small) == 4).all()
print(sorted(set(told)))
"""


def test_a_handler_that_calls_gpuopt_is_answered(any_device: gpuopt.Device) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(any_device.index)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert "computed" in run.stdout or "a signal's handler called gpuopt" in run.stdout


# Copies beside kernels have a lock of their own, and look at signals under it.
BESIDE = """
import signal, sys
import numpy as np
import gpuopt
from gpuopt import _core

device, told = gpuopt.devices()[int(sys.argv[1])], []
_core.set_staging(device, True, 4096, 3, 2)
small, large = (_core.empty((count,), np.dtype(np.float32), device) for count in (16, 1 << 26))
copies, host = _core.CopiesBeside(device), np.empty(1 << 26, np.float32)

def handler(number, frame):
    try:
        _core.CopiesBeside(device).download(small, np.empty(16, np.float32))
        told.append("copied")
    except gpuopt.Error as error:
        told.append(str(error))

signal.signal(signal.SIGALRM, handler)
for _ in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    copies.download(large, host)
    if any("handler" in text for text in told):
        break
signal.setitimer(signal.ITIMER_REAL, 0)
copies.download(small, np.empty(16, np.float32))
print(sorted(set(told)))
"""


def test_a_handler_that_copies_within_a_copy_is_answered(any_device: gpuopt.Device) -> None:
    """It waited for ever."""
    run = subprocess.run(
        [sys.executable, "-c", BESIDE, str(any_device.index)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert "a signal's handler called gpuopt" in run.stdout


RAISING = """
import signal
import numpy as np
import gpuopt

fired = False

def handler(*given):
    global fired
    fired = True
    raise RuntimeError("time is over")

signal.signal(signal.SIGALRM, handler)
M = gpuopt.DiaMatrix((np.ones((3, 1000)), [0, 1, -1]), (1000, 1000))
x, points = np.ones(1000), np.random.default_rng(1).uniform(size=(200_000, 3)).tolist()
random, told = np.random.default_rng(2), set()
calls = [(lambda: M @ x, 400, 2e-4), (lambda: M + M, 400, 5e-4), (lambda: gpuopt.DiaMatrix(M.to_scipy()), 400, 2e-4)]
calls += [(lambda: M[3:, :40], 400, 5e-4), (lambda: abs(M), 400, 3e-4), (lambda: M - M, 400, 5e-4)]
calls.append((lambda: gpuopt.Molecule(points, [0.0] * 200_000), 3, 2e-2))
for call, times, most in calls:
    call()  # an import that a handler ends is told by Python, with a TypeError of its own here and there
    for _ in range(times):
        fired = False
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, most))
            try:
                while not fired:  # NumPy and SciPy drop an error here and there
                    call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception as error:
            told.add(f"{type(error).__name__}: {error}")
print(told)
"""


def test_what_a_handler_raises_is_the_callers_own(any_device: gpuopt.Device) -> None:
    """It was told as a fault of the data that a call was reading at that moment."""
    run = subprocess.run([sys.executable, "-c", RAISING], capture_output=True, text=True, timeout=120)
    assert run.stdout == "{'RuntimeError: time is over'}\n", run.stdout + run.stderr


# A deadline's error is an OSError, as are those that gpuopt catches where a file cannot be read.
DEADLINE = """
import signal
import numpy as np
import gpuopt
from gpuopt import molecule, problems

fired = False

def handler(*given):
    global fired
    fired = True
    raise TimeoutError("time is over")

signal.signal(signal.SIGALRM, handler)
atoms, surface = problems.globule(20)
random, told, lost = np.random.default_rng(2), set(), 0
calls = [
    lambda: molecule.surface_points(atoms, density=1.0),
    lambda: molecule.grid(atoms, surface, 4.0),
    lambda: gpuopt.solvation_energy(atoms, surface),
]
for call in calls:
    call()
    for _ in range(150):
        fired = False
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 2e-3))
            try:
                while not fired:
                    call()
                lost += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Exception as error:
            told.add(f"{type(error).__name__}: {error}")
print(lost, told)
"""


def test_what_a_handler_raises_is_not_taken_for_an_error_of_the_system(any_device: gpuopt.Device) -> None:
    run = subprocess.run([sys.executable, "-c", DEADLINE], capture_output=True, text=True, timeout=120)
    assert run.stdout == "0 {'TimeoutError: time is over'}\n", run.stdout + run.stderr


def test_an_interrupt_within_numpy_is_not_taken_for_shared_memory(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def share(*given: object, **named: object) -> bool:
        raise raised

    big = np.ones((30, 60), np.float32)
    monkeypatch.setattr(np, "shares_memory", share)
    raised: BaseException = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        gpuopt.gemm(big[:, :30], big[:, 30:], out=big[:, 15:45], device=any_device)
    raised = np.exceptions.TooHardError()
    with pytest.raises(gpuopt.ArrayError, match="out: it shares memory with A"):
        gpuopt.gemm(big[:, :30], big[:, 30:], out=big[:, 15:45], device=any_device)


def test_an_interrupt_within_a_number_is_not_taken_for_no_byte(any_device: gpuopt.Device) -> None:
    class Interrupted:
        def __index__(self) -> int:
            raise KeyboardInterrupt

    array = _core.empty((3,), np.dtype(np.float32), any_device)
    with pytest.raises(KeyboardInterrupt):
        array.fill_bytes(Interrupted())  # type: ignore[arg-type]
    for given in ("3", 2.5, 2**70, -1, 256):
        with pytest.raises(gpuopt.ParameterError, match="byte: it is no byte"):
            array.fill_bytes(given)  # type: ignore[arg-type]


def test_errors_that_are_their_own_cause(tmp_path: Path) -> None:
    """They were followed for ever."""

    class Own:
        def __fspath__(self) -> str:
            try:
                raise ValueError("own")
            except ValueError as error:
                raise error from error

    with gpuopt.trace() as trace, pytest.raises(gpuopt.ParameterError, match=r"^path: "):
        trace.save(Own())  # type: ignore[arg-type]


def test_handlers_are_told_by_what_they_are_given() -> None:
    def renamed(number: int, frame: types.FrameType | None) -> None:
        number = signal.Signals(number)
        raise TimeoutError(number.name)

    before = signal.signal(signal.SIGALRM, renamed)
    try:
        with pytest.raises(TimeoutError, match="SIGALRM") as caught:
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert of_signal(caught.value) is caught.value


def test_a_signal_while_a_kernel_is_built_changes_nothing(device: gpuopt.Device) -> None:
    """LLVM removes its temporary files at one (PoCL)."""
    code = textwrap.dedent(f"""
        import os, signal, threading, time
        from gpuopt import lab
        signal.signal(signal.SIGTERM, lambda *told: None)
        for i in range(6):
            text = f"kernel void k(global float* y) {{{{ y[get_global_id(0)] = {{i}}; }}}} // {{time.time_ns()}}"
            kernel = lab.Kernel(text, "k", arguments=[lab.output("y", 3)], launch=lab.launch(items=3, local=1))
            threading.Timer(0.005 * (i + 1), lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
            assert (kernel(device={device.index}) == i).all()
            time.sleep(0.05)
    """)
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_deadline_within_pillow_is_told(tmp_path: Path) -> None:
    """Pillow takes an OSError, as a TimeoutError is one, for a fault of the file, or drops it."""
    pages = [Image.fromarray(np.full((6, 40), 500 + i, np.uint16)) for i in range(8)]
    pages[0].save(tmp_path / "scan.tif", save_all=True, append_images=pages[1:])
    told = 0

    def raise_late(number: int, frame: object) -> None:
        raise TimeoutError("time is up")

    def read(place: int) -> None:
        left = place

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            left -= "PIL" in frame.f_code.co_filename
            if left == 0:
                signal.raise_signal(signal.SIGALRM)
            return trace

        sys.settrace(trace)
        try:
            tomo.read_scan(tmp_path / "scan.tif", 8, flat=2000.0)
        finally:
            sys.settrace(None)

    before = signal.signal(signal.SIGALRM, raise_late)
    try:
        for place in range(1, 100_000, 37):
            told = place
            try:
                read(place)
            except TimeoutError:
                continue
            break  # there are no more places
    finally:
        signal.signal(signal.SIGALRM, before)
    assert told > 700
    assert signal.getsignal(signal.SIGALRM) == before


def test_deferred_handlers_are_there_again_whatever_they_raise() -> None:
    heard: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        raise TimeoutError("time is up")

    def within() -> None:
        with deferring():
            signal.raise_signal(signal.SIGUSR1)
            assert heard == []

    before = signal.signal(signal.SIGUSR1, hear)
    try:
        with pytest.raises(TimeoutError):
            within()
        assert signal.getsignal(signal.SIGUSR1) is hear
        assert heard == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)
