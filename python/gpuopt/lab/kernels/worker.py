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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
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
from gpuopt.checked import HostMemoryError
from gpuopt.lab.device.conditions import OWN_PROCESSES
from gpuopt.lab.kernels.checks import WrongResultError
from gpuopt.lab.kernels.frames import NO_MEMORY_EXIT, ClosedError, GarbledError, LateError, receive, send
from gpuopt.signals import let_through, suppressing

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
    """A worker could not be killed: its device is lost to this session, unless it ends after all."""


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
    """One process on one device. Use it from one thread at a time; any thread may end it.

    ``begun`` gets it before its device is opened, which may take seconds. Raises Error where it does not start."""

    def __init__(self, device: Device, begun: Callable[[Worker], None] | None = None) -> None:
        self.device = device
        self.loaded = 0
        self.owes = False  # the answer to a question that was given up
        self.forgotten: list[int] = []  # plans that nobody holds any more
        self.output = bytearray()
        self.lost: WorkerLostError | None = None
        self._asking = threading.Lock()  # of one question and its answer
        self._ending = threading.RLock()
        self._is_signalled = False
        self._reader: threading.Thread | None = None
        self._alive: int | None = None  # what tells the process that we live; None when it has ended
        try:
            with _standard_places_taken():
                self._channel, self._alive = self._started()
            OWN_PROCESSES[self.process.pid] = device.index
            reader = threading.Thread(target=self._drain, daemon=True)
            reader.start()
            self._reader = reader
            if begun is not None:
                begun(self)
            key = self.ask({"do": "open", "device": device.index}, START_S, "start")[0]
            if key != device.key:
                raise Error(f"the worker sees {key} where {device.key} should be; the devices have changed")
        except BaseException as error:
            self.kill()
            if isinstance(error, (OSError, RuntimeError)):  # RuntimeError: there are no more threads
                let_through(error)
                raise Error(f"no process for kernels starts: {error}") from error
            raise

    def _started(self) -> tuple[socket.socket, int]:
        """Starts the process; our ends of the channel, and of what tells it that we live."""
        ours, theirs = socket.socketpair()
        held: list[int] = []
        path = os.pathsep.join(place for place in sys.path if isinstance(place, str) and place)
        try:
            held += os.pipe()
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(theirs.fileno()), str(held[0])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(), held[0]),
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path},
            )
            return ours, held.pop()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            for number in held:
                os.close(number)

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

    @property
    def is_asked(self) -> bool:
        """Whether a question is open."""
        return self._asking.locked()

    def ask(
        self, message: Mapping[str, Any], limit_s: float, phase: str, arrays: Mapping[str, np.ndarray] | None = None
    ) -> tuple[Any, dict[str, np.ndarray]]:
        """The answer. Raises what the work raised there, KernelTimeoutError after ``limit_s``, KernelCrashError and
        ContextLostError, after which the process is gone, HostMemoryError where it ended for want of memory, and
        WorkerLostError."""
        with self._asking:
            if self.lost is not None:
                raise self.lost
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

    def _crashed(self, phase: str) -> Error:
        self.kill()
        code = self.process.returncode
        if code == NO_MEMORY_EXIT:
            return HostMemoryError(
                f"{phase} found no memory on the host in the process of its kernel; give smaller sizes"
            )
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
            if self.lost is not None and self.is_alive:
                raise self.lost
            if self._alive is not None:
                self._end()

    def _end(self) -> None:
        """An interrupt in here leaves it to the next call to go on."""
        if not self._is_signalled:  # once: when it is gone, its number may be another's
            with suppressing(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self._is_signalled = True
        try:
            self.process.wait(KILL_S)
        except subprocess.TimeoutExpired as error:
            self.lost = WorkerLostError(f"{self.device.name}: a worker of it does not end; restart the machine")
            raise self.lost from error
        OWN_PROCESSES.pop(self.process.pid, None)
        self._channel.close()
        alive, self._alive = self._alive, None  # a handler in here may have ended it
        if alive is not None:
            os.close(alive)
        if self._reader is not None:
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
    "HostMemoryError": HostMemoryError,
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


class _Place:
    """What a device has in one process."""

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()  # of its worker, what is loaded there, a question
        self.replacing = threading.Lock()
        self.worker: Worker | None = None


class Workers:
    """The worker of each device, replaced after a crash, a hang, and many plans. ``generation`` counts them."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], _Place] = {}  # by process: after a fork these are the parent's
        self.generation: dict[int, int] = {}

    def _place(self, device: Device) -> _Place:
        return self._places.setdefault((os.getpid(), device.index), _Place())

    def lock(self, device: Device) -> Any:
        """The lock of a device: hold it from :meth:`of` to the answer."""
        return self._place(device).lock

    def of(self, device: Device, generation: int = 0) -> Worker:
        """A worker that runs. Of that ``generation``, where it still runs: what its plans hold is not replaced between
        two questions. Raises Error where none starts, and in a signal's handler that interrupts a question or a start,
        and WorkerLostError."""
        place = self._place(device)
        held = place.worker
        if place.replacing.locked() or (held is not None and held.is_asked):  # by this thread, which holds the lock
            raise Error(
                "a signal's handler called gpuopt while a call of the same thread goes on; let the handler set a "
                "flag, and compute when the call has returned"
            )
        is_asked_for = 0 < generation == self.generation.get(device.index)
        is_fit = held is not None and held.is_alive and not held.owes and held.lost is None
        if held is not None and is_fit and (is_asked_for or held.loaded < RECYCLED):
            return held
        with place.replacing:
            if held is not None:
                held.close()
                if held.lost is not None and held.is_alive:  # a second one would be timed beside it
                    raise held.lost
            self.generation[device.index] = self.generation.get(device.index, 0) + 1
            return Worker(device, partial(setattr, place, "worker"))  # kept also where it neither opens nor ends

    def forget(self, device: Device, generation: int, number: int) -> None:
        """Lets a plan go, with the next question: a destructor must ask none itself."""
        held = self._place(device).worker
        if held is not None and generation == self.generation.get(device.index):
            held.forgotten.append(number)

    def close(self) -> None:
        """Ends all of them."""
        for process, index in [*self._places]:
            if process == os.getpid() and (held := self._places[process, index].worker) is not None:
                held.close()
                self._places[process, index].worker = None


WORKERS = Workers()
atexit.register(WORKERS.close)
