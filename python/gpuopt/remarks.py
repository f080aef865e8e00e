"""What is told on stderr beside the work: where nobody can read it, it is dropped and the work goes on."""

from __future__ import annotations

import sys

from gpuopt.signals import let_through, suppressing


def remark(text: str) -> None:
    """Writes a line to stderr, unless there is none, it is closed, or it takes nothing."""
    if sys.stderr is not None:  # of a program that was started without it
        with suppressing(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def at_terminal() -> bool:
    """Whether stderr is a terminal."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, OSError, ValueError) as error:
        let_through(error)
        return False
