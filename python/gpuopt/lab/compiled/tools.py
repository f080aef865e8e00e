"""Compilers and disassemblers of the machine: found, asked for their version, and run with a limit, without a shell."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TypeVar

from gpuopt._core import Error
from gpuopt.signals import let_through, suppressing

LIMIT_S = 60.0
MOST_BYTES = 64 * 2**20  # of what a tool prints
LOOK_S = 0.1  # between two looks at how much that is
Made = TypeVar("Made")
_RUNNING: set[subprocess.Popen[bytes]] = set()


class ToolError(Error):
    """A tool that is missing, fails, does not end or prints too much; the message names it and says which."""


def find(*names: str) -> str | None:
    """The first of these programs that is on PATH, as a path; None where none is."""
    return next((path for name in names if (path := shutil.which(name))), None)


def needed(*names: str) -> str:
    """The same. Raises ToolError where none is there."""
    if (path := find(*names)) is None:
        raise ToolError(f"{names[0]} is not on PATH")
    return path


@lru_cache(maxsize=64)
def version(path: str) -> str:
    """The line of ``--version`` that holds a number, without the project's name in front: `15.0.6`, `V13.0.88`; "?"
    where a tool tells none."""
    try:
        printed = run([path, "--version"], limit_s=10.0)
    except ToolError:
        return "?"
    words = [word.strip("(),") for line in printed.splitlines()[:6] for word in line.split()]
    return next((word for word in words if _is_version(word.lstrip("V"))), "?")


def _is_version(word: str) -> bool:
    parts = word.split("-")[0].split("+")[0].split(".")
    return len(parts) >= 2 and all(part.isdigit() for part in parts)


@contextmanager
def folder_with(name: str, content: bytes) -> Iterator[Path]:
    """A folder of its own with this file in it, which is removed at the end. Raises ToolError where none can be
    made."""
    with _temporary(partial(tempfile.TemporaryDirectory, prefix="gpuopt-")) as held:
        folder = Path(held)
        _temporary(partial((folder / name).write_bytes, content))
        yield folder


def _temporary(make: Callable[[], Made]) -> Made:
    try:
        return make()
    except OSError as error:
        let_through(error)
        why = error.strerror or error
        raise ToolError(f"no temporary file can be written: {why}; free some space, or set TMPDIR") from error


def run(
    command: Sequence[str],
    *,
    limit_s: float = LIMIT_S,
    most_bytes: int = MOST_BYTES,
    folder: Path | None = None,
    errors: bool = False,
) -> str:
    """What a program prints, with ``errors`` also what it says of errors. Raises ToolError where it is missing, ends
    with an error, does not end within ``limit_s`` seconds (then it is killed, with what it started) or prints more than
    ``most_bytes``."""
    name = Path(command[0]).name
    with _temporary(tempfile.TemporaryFile) as printed, _temporary(tempfile.TemporaryFile) as said:
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed if errors else said,
                cwd=folder,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError as error:
            let_through(error)
            raise ToolError(f"{name} does not start: {error.strerror or error}") from error
        _RUNNING.add(process)
        try:
            code = _ended(process, limit_s, lambda: _printed_bytes(printed, said) > most_bytes)
        except _TooMuchError as error:
            raise ToolError(f"{name} printed more than {most_bytes / 2**20:.0f} MiB, and was ended") from error
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{name} did not end within {limit_s:.3g} s") from error
        finally:
            if process.returncode is None:
                _kill(process)
                process.wait()
            _RUNNING.discard(process)
        if code != 0:
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise ToolError(f"{name} fails ({how}){_first_error(printed if errors else said)}")
        if (size := printed.seek(0, os.SEEK_END)) > most_bytes:
            raise ToolError(f"{name} printed {size / 2**20:.0f} MiB; at most {most_bytes / 2**20:.0f} are read")
        printed.seek(0)
        return printed.read().decode(errors="replace")


def end_all() -> None:
    """Kills the tools that run, in whatever threads: an interrupted call does not wait for them."""
    for process in [*_RUNNING]:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """It, and what it started."""
    with suppressing(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class _TooMuchError(Exception):
    pass


def _printed_bytes(*files: IO[bytes]) -> int:
    """Of the longest of them; their places, where a tool writes on, stay as they are."""
    return max(os.fstat(file.fileno()).st_size for file in files)


def _ended(process: subprocess.Popen[bytes], limit_s: float, is_too_much: Callable[[], bool]) -> int:
    """The exit code, as soon as there is one; where the system cannot wake us, ``wait`` looks for it every 50 ms.
    Raises TimeoutExpired, and _TooMuchError."""
    until, end = time.monotonic() + limit_s, None
    with suppressing(AttributeError, OSError):  # no Linux, or one before 5.3
        end = os.pidfd_open(process.pid)
    try:
        while (left_s := until - time.monotonic()) > LOOK_S:
            with suppress(subprocess.TimeoutExpired):
                return _wait(process, end, LOOK_S)
            if is_too_much():
                raise _TooMuchError
        return _wait(process, end, max(0.0, left_s))
    finally:
        if end is not None:
            os.close(end)


def _wait(process: subprocess.Popen[bytes], end: int | None, seconds: float) -> int:
    """The exit code, within so many seconds. Raises TimeoutExpired."""
    until = time.monotonic() + seconds
    if end is not None:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        poll.poll(seconds * 1e3)
    return process.wait(max(0.0, until - time.monotonic()))


def _first_error(said: IO[bytes]) -> str:
    """The first line that tells of an error, else the last one."""
    said.seek(0)
    lines = said.read(65536).decode(errors="replace").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    told = next((line for line in lines if "error:" in line.lower()), lines[-1] if lines else "")
    return f": {told[:300]}" if told else ""
