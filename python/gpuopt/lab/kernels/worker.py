"""A process of its own for kernels that are not known to end, or to stay inside their memory: a hang or a crash costs a
row there, and not the study."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gpuopt import _core
from gpuopt._core import (
    Device,
    DeviceMemoryError,
    Error,
    OpenCLError,
    ParameterError,
    UnsupportedError,
)
from gpuopt.lab.device.conditions import OWN_PROCESSES
from gpuopt.lab.kernels.checks import WrongResultError
from gpuopt.lab.kernels.frames import ClosedError, GarbledError, LateError, receive, send
from gpuopt.signals import suppressing

START_S = 60.0  # of a worker, with the driver's own start
KILL_S = 10.0  # what a killed process may take to be gone
KEPT_OUTPUT = 64 * 2**10
RECYCLED = 200  # plans that a worker loads before another takes its place


# Nothing is imported from the folder that the caller happens to work in, but where its own path names that.
SERVE = """import sys
sys.path[:] = [place for place in sys.path if place]
from gpuopt.lab.kernels.serve import main
main()"""


class KernelCrashError(Error):
    """A kernel ended its process; ``signal`` is what ended it, 0 where it went by itself."""

    status = "crash"
    signal: int = 0


class KernelTimeoutError(Error):
    """A kernel, or its build, did not end in time."""

    status = "timeout"


class ContextLostError(KernelCrashError):
    """The driver gave up a worker's context: after a stray access on a GPU nothing works there any more."""


class WorkerLostError(Error):
    """A worker could not be killed: its device is lost to this session."""


@contextmanager
def _standard_places_taken() -> Iterator[None]:
    """Descriptors 0 to 2 are open in here, so nothing that is opened gets such a number: a child has its own standard
    streams there, and drivers print there."""
    held: list[int] = []
    try:
        while not held or held[-1] < 3:
            held.append(os.open(os.devnull, os.O_RDWR))
        yield
    finally:
        for number in held:
            os.close(number)


class Worker:
    """One process on one device. Use it from one thread at a time."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.loaded = 0
        self.owes = False  # the answer to a question that was given up
        self.forgotten: list[int] = []  # plans that nobody holds any more
        self.output = bytearray()
        self._lock = threading.RLock()  # of one question and its answer
        with _standard_places_taken():
            ours, alive = self._started()
        OWN_PROCESSES[self.process.pid] = device.index
        self._channel = ours
        self._alive: int | None = alive  # what tells the process that we live; None when it has ended
        self._ending = threading.Lock()
        self._is_signalled = False
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()
        try:
            key = self.ask({"do": "open", "device": device.index}, START_S, "start")[0]
        except BaseException:
            self.kill()
            raise
        if key != device.key:
            self.kill()
            raise Error(f"the worker sees {key} where {device.key} should be; the devices have changed")

    def _started(self) -> tuple[socket.socket, int]:
        """Starts the process; our ends of the channel, and of what tells it that we live."""
        ours, theirs = socket.socketpair()
        end, alive = os.pipe()
        path = os.pathsep.join(place for place in sys.path if isinstance(place, str) and place)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(theirs.fileno()), str(end)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(), end),
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        except BaseException:
            ours.close()
            os.close(alive)
            raise
        finally:
            theirs.close()
            os.close(end)
        return ours, alive

    def _drain(self) -> None:
        """Reads what kernels print, so that they never wait for a reader, and keeps its beginning."""
        pipe = self.process.stdout
        assert pipe is not None
        with suppressing(OSError, ValueError):
            while part := os.read(pipe.fileno(), 65536):
                self.output += part[: max(0, KEPT_OUTPUT - len(self.output))]

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def ask(
        self, message: Mapping[str, Any], limit_s: float, phase: str, arrays: Mapping[str, np.ndarray] | None = None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """The answer. Raises what the work raised there, KernelTimeoutError after ``limit_s``, KernelCrashError and
        ContextLostError; the process is gone after these three."""
        with self._lock:
            while self.forgotten:
                self._asked({"do": "drop", "plan": self.forgotten.pop()}, START_S, "forgetting", None)
            return self._asked(message, limit_s, phase, arrays)

    def _asked(
        self, message: Mapping[str, Any], limit_s: float, phase: str, arrays: Mapping[str, np.ndarray] | None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        until = time.monotonic() + limit_s
        self.output.clear()  # what is printed from here on is of this question
        try:
            self.owes = True
            send(self._channel, message, arrays)
            reply, back = receive(self._channel, until)
            self.owes = False
        except LateError as error:
            self.kill()
            raise KernelTimeoutError(f"{phase} did not end within {limit_s:.3g} s") from error
        except GarbledError as error:
            self.kill()
            raise KernelCrashError(f"{phase} wrote over its process's memory: {error}") from error
        except ClosedError as error:
            raise self._crashed(phase) from error
        except BaseException:  # Ctrl-C: what runs there is of no use any more
            self.kill()
            raise
        if "error" in reply:
            told = _again(reply)
            if reply.get("lost"):
                self.kill()
                raise ContextLostError(f"{phase} ended its context on the device: {told}") from told
            raise told
        return reply["answer"], back

    def _crashed(self, phase: str) -> KernelCrashError:
        self.kill()
        code = self.process.returncode
        number = -code if code is not None and code < 0 else 0
        name = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {code}"
        printed = self.output.decode(errors="replace").strip().splitlines()
        said = f"; it printed: {printed[-1][:200]}" if printed else ""
        error = KernelCrashError(f"{phase} ended its process ({name}){said}")
        error.signal = number
        return error

    def kill(self) -> None:
        """Ends the process and all that it started; once. Raises WorkerLostError where it cannot be ended."""
        with self._ending:
            if self._alive is not None:
                self._end()

    def _end(self) -> None:
        """An interrupt in here leaves it to the next call to go on."""
        alive = self._alive
        if not self._is_signalled:  # once: when it is gone, its number may be another's
            with suppressing(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self._is_signalled = True
        try:
            self.process.wait(KILL_S)
        except subprocess.TimeoutExpired as error:
            self._alive = None
            raise WorkerLostError(f"{self.device.name}: a worker of it does not end; restart the machine") from error
        OWN_PROCESSES.pop(self.process.pid, None)
        self._channel.close()
        self._alive = None
        if alive is not None:
            os.close(alive)
        self._reader.join(1.0)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def close(self) -> None:
        """The same, whatever comes of it."""
        with suppressing(Exception):
            self.kill()


_KINDS: dict[str, type[Error]] = {
    "ParameterError": ParameterError,
    "DeviceMemoryError": DeviceMemoryError,
    "UnsupportedError": UnsupportedError,
    "KernelBuildError": _core.KernelBuildError,
    "OpenCLError": OpenCLError,
}


def _again(told: Mapping[str, Any]) -> Error:
    """The error that a worker told of, of the same class where it is one of ours."""
    if told["error"] == "WrongResultError":
        return WrongResultError(told["word"], told["says"])
    kind = _KINDS.get(told["error"], Error)
    error = kind(told["says"] if kind is not Error else f"{told['error']}: {told['says']}")
    for name in ("because", "log", "file", "line", "call", "code", "name"):
        if name in told:
            with suppress(AttributeError):
                setattr(error, name, told[name])
    return error


class Workers:
    """The worker of each device, replaced after a crash, a hang, and many plans. ``generation`` counts them."""

    def __init__(self) -> None:
        self._held: dict[int, Worker] = {}
        self._locks: dict[int, Any] = {}  # of a device: its worker, what is loaded there, a question
        self._making = threading.Lock()
        self.generation: dict[int, int] = {}
        self._owner = os.getpid()

    def lock(self, device: Device) -> Any:
        """The lock of a device: hold it from :meth:`of` to the answer."""
        with self._making:
            return self._locks.setdefault(device.index, threading.RLock())

    def of(self, device: Device, generation: int = 0) -> Worker:
        """A worker that runs. Of that ``generation``, where it still runs: what its plans hold is not replaced between
        two questions. Raises Error where none starts."""
        if self._owner != os.getpid():  # after a fork: they are the parent's
            self._held, self._locks, self._owner = {}, {}, os.getpid()
        held = self._held.get(device.index)
        is_asked_for = 0 < generation == self.generation.get(device.index)
        if held is not None and held.is_alive and not held.owes and (is_asked_for or held.loaded < RECYCLED):
            return held
        if held is not None:
            held.close()
        self.generation[device.index] = self.generation.get(device.index, 0) + 1
        self._held[device.index] = Worker(device)
        return self._held[device.index]

    def forget(self, device: Device, generation: int, number: int) -> None:
        """Lets a plan go, with the next question: a destructor must ask none itself."""
        held = self._held.get(device.index)
        if held is not None and generation == self.generation.get(device.index):
            held.forgotten.append(number)

    def close(self) -> None:
        """Ends all of them."""
        if self._owner == os.getpid():
            for worker in self._held.values():
                worker.close()
        self._held.clear()


WORKERS = Workers()
atexit.register(WORKERS.close)
