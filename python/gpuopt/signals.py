"""What a signal's handler raises is the caller's own: it may come anywhere in a call, and leaves the call as it is.

Where gpuopt catches an OSError, or any exception, for its own reasons, it asks here first: deadlines are often told by
a TimeoutError, which is an OSError.
"""

from __future__ import annotations

import itertools
import os
import signal
import stat
import threading
import types
from collections.abc import Callable
from inspect import CO_VARARGS
from pathlib import Path
from signal import Signals


def of_signal(error: BaseException | None) -> Exception | None:
    """The exception that a handler of a signal raised, if this one is that or was made of it (``from``)."""
    seen = set[int]()  # an error may be its own cause
    while isinstance(error, Exception) and id(error) not in seen:
        seen.add(id(error))
        trace = error.__traceback__
        while trace is not None:
            if _handles_signals(trace.tb_frame):
                return error
            trace = trace.tb_next
        error = error.__cause__
    return None


def _handles_signals(frame: types.FrameType) -> bool:
    """Whether its function was called as a handler is: by a signal's number and a frame."""
    code = frame.f_code
    if code.co_argcount < 2 and not code.co_flags & CO_VARARGS:
        return False
    given, names = frame.f_locals, code.co_varnames[: code.co_argcount]
    arguments = [given.get(name) for name in names]
    if code.co_flags & CO_VARARGS:
        arguments += given.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    pairs = itertools.pairwise(arguments)
    return any(type(one) in (int, Signals) and type(other) is types.FrameType for one, other in pairs)


def let_through(error: BaseException) -> None:
    """What an ``except`` calls first. Raises what a signal's handler raised, if the error is that or was made of it."""
    if (raised := of_signal(error)) is not None:
        raise raised from raised.__cause__


class suppressing:
    """``contextlib.suppress`` that drops nothing that a signal's handler raised."""

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, self._kinds):
            return False
        let_through(error)
        return True


class deferring:
    """Within it the handlers of signals wait, but for Ctrl-C's: another library would take what they raise for its own
    failure, or drop it. They are called at its end. Threads but the main one hear no signals: there it does nothing."""

    def __enter__(self) -> None:
        self._came: list[tuple[int, types.FrameType | None]] = []
        self._handlers: dict[int, Callable[[int, types.FrameType | None], object]] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in signal.valid_signals() - {signal.SIGINT}:
                if callable(handler := signal.getsignal(number)):
                    self._handlers[number] = handler
                    signal.signal(number, self._note)
        except BaseException:
            self._restore()
            raise

    def _note(self, number: int, frame: types.FrameType | None) -> None:
        self._came.append((number, frame))

    def _restore(self) -> None:
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
        except BaseException:  # a handler that is there again
            self._restore()
            raise

    def __exit__(self, *_: object) -> None:
        self._restore()
        for number, frame in self._came:
            self._handlers[number](number, frame)


# ---------------------------------------------------------------- what stands at a path: os.path drops an OSError


def mode_of(path: str | os.PathLike[str]) -> int | None:
    """The system's mode of what has this name; None where nothing has it."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError) as error:
        let_through(error)
        return None


def exists(path: str | os.PathLike[str]) -> bool:
    """``os.path.exists``."""
    return mode_of(path) is not None


def is_file(path: str | os.PathLike[str]) -> bool:
    """``os.path.isfile``."""
    mode = mode_of(path)
    return mode is not None and stat.S_ISREG(mode)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """``os.path.isdir``."""
    mode = mode_of(path)
    return mode is not None and stat.S_ISDIR(mode)


def real_path(path: str | os.PathLike[str]) -> str:
    """``os.path.realpath``; of a path that leads to nothing, an OSError of a handler may still be dropped. Raises
    ValueError for a NUL."""
    try:
        return os.path.realpath(os.fspath(path), strict=True)
    except OSError as error:
        let_through(error)
        return os.path.realpath(os.fspath(path))


def make_folders(path: str | os.PathLike[str]) -> None:
    """Makes a folder and those above it, where it is missing. Raises OSError."""
    if not is_folder(path):  # exist_ok drops any OSError where it is there
        Path(path).mkdir(parents=True, exist_ok=True)
