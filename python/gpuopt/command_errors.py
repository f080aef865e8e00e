"""How the command line reports errors: one line and an exit code for what the user can mend, a traceback for bugs."""

from __future__ import annotations

import errno
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper
from typing import Any

import click

import gpuopt
from gpuopt import files

INTERRUPT_EXIT, ERROR_EXIT = 130, 2


class _Lossy(FileIO):
    """A descriptor that drops what it cannot take."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or len(data)  # None: of a pipe that is full and not waited for
        except OSError:
            return len(data)


def ready_streams() -> None:
    """From now on, what stderr cannot take is dropped, what the terminal cannot show of a file's name is written as an
    escape, and no file that is opened takes the place of a standard stream that was closed: drivers write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest number that is free
    if sys.stderr is sys.__stderr__:
        buffer = BufferedWriter(_Lossy(2, "w", closefd=False))
        encoding = sys.stderr.encoding if sys.stderr is not None else "utf-8"
        sys.stderr = TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=True)
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


class Failure(click.ClickException):
    """An error that the user can mend, shown in one line."""

    exit_code = ERROR_EXIT

    def show(self, file: Any = None) -> None:
        click.echo(click.style("gpuopt: ", fg="red") + self.message, err=True, file=file)


class KindGroup(click.Group):
    """A group of commands that reports errors: what the user can mend in one line with exit code 2, an interrupt with
    exit code 130, and bugs with their traceback."""

    def make_context(self, *args: Any, **keywords: Any) -> click.Context:
        """Where --help and --version write, too."""
        try:
            return super().make_context(*args, **keywords)
        except OSError as error:
            if _is_not_theirs(error):
                raise
            raise Failure(_kind_line(error)) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            click.echo("gpuopt: interrupted", err=True)
            ctx.exit(INTERRUPT_EXIT)
        except (gpuopt.Error, OSError, ModuleNotFoundError) as error:
            if ctx.params.get("traceback") or _is_not_theirs(error):
                raise
            raise Failure(_kind_line(error)) from error


def _is_not_theirs(error: Exception) -> bool:
    """Whether the user cannot mend the error. A missing module of gpuopt itself is a bug. A closed pipe, as by `|
    head`, is handled by click."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == "gpuopt"
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _kind_line(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"this needs {error.name}, which is not installed: pip install 'gpuopt[lab]'"
    if type(error) is FileNotFoundError and files.leads_nowhere(error.filename or "."):
        why = f"{files.NO_WORKING_DIRECTORY}; {files.ELSEWHERE}"
        return f"{error.filename}: {why}" if error.filename is not None else why
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
