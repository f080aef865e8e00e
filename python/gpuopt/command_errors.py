"""How the command line tells a person what went wrong: one line and an exit code; bugs keep their trace."""

from __future__ import annotations

import errno
from typing import Any

import click

import gpuopt

INTERRUPT_EXIT, ERROR_EXIT = 130, 2


class Failure(click.ClickException):
    """What a person can mend, in one line."""

    exit_code = ERROR_EXIT

    def show(self, file: Any = None) -> None:
        click.echo(click.style("gpuopt: ", fg="red") + self.message, err=True, file=file)


class KindGroup(click.Group):
    """Errors that a person can mend become one line and exit code 2, an interrupt code 130; bugs keep their trace."""

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
    """A module of our own that is missing is a bug; a closed pipe is what `| head` does, and click's to handle."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] == "gpuopt"
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _kind_line(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"this needs {error.name}, which is not installed: pip install 'gpuopt[lab]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
