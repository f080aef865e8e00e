"""Ctrl-C on the command line: the process ends within a second, whatever it is doing."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any, NoReturn

from gpuopt import _core
from gpuopt._core import Error
from gpuopt.command_errors import INTERRUPT_EXIT
from gpuopt.signals import suppressing

DEAF_S = 0.8
Handler = Callable[[int, FrameType | None], Any] | int | None  # None: one that Python did not install


@contextmanager
def listening() -> Iterator[None]:
    """Within it Ctrl-C raises KeyboardInterrupt, as always. Where code that never looks at signals (BLAS, a driver)
    keeps Python from that, a thread ends the process after DEAF_S seconds: rows are in their file as soon as they are
    finished, and other files are written in one step. A process has one such thread, however many commands it runs;
    behind them it has its own handler again. Only the main thread may set handlers: elsewhere this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waking = _waking_fd(os.getpid())
    if waking is None:
        yield
        return
    before, woken = signal.getsignal(signal.SIGINT), -1
    try:
        woken = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, _hear)
        yield
    finally:
        _give_back(before, woken)


def _give_back(before: Handler, woken: int) -> None:
    try:
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        _core.forget_interrupt()
    except KeyboardInterrupt:  # it came in between
        _give_back(before, woken)
        raise


@lru_cache(maxsize=1)
def _waking_fd(process: int) -> int | None:
    """The end of a pipe at whose other end the thread of this process reads; a fork has no threads of its parent. None
    where the system gives no thread: Ctrl-C is Python's own then."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    message = "\ngpuopt: interrupted in a long computation; files hold what was finished before it\n"
    try:
        _core.end_if_unheard(read, DEAF_S, INTERRUPT_EXIT, message)
    except Error:
        os.close(read)
        os.close(write)
        return None
    return write


def _hear(number: int, frame: FrameType | None) -> NoReturn:
    _core.hear_interrupt()
    raise KeyboardInterrupt


def leave(code: int) -> None:
    """Ends the process now where a device or a compiler still works for an interrupted call: a plain exit would wait
    for it."""
    _core.forget_interrupt()
    if _core.idle():
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppressing(OSError, ValueError):  # a pipe without a reader, a full disk, a closed stream
                stream.flush()
    os._exit(code)
