"""What a paper's step reads, writes and computes, and deliberate deviations from it; as data, written from the papers.

``PAPER`` of a room's ``compiled.py`` has them by preset; what is no preset (a pattern of accesses) has a name of its
own and a configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiled.ir import Counts, Kernel
from gpuopt import Configuration

# Counted where an expectation names them: how a compiler forms indices and conditions is its own affair.
ARITHMETIC = {"fma", "fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp", "fptosi", "fptoui", "sitofp", "uitofp"}
ARITHMETIC |= {"fptrunc", "fpext", "icmp", "and", "or", "xor", "add", "sub", "mul", "sdiv", "udiv", "srem", "urem"}
ARITHMETIC |= {"shl", "lshr", "ashr", "trunc", "zext", "sext", "select", "min", "max", "clamp", "smin", "smax"}
ARITHMETIC |= {
    "insertelement",
    "extractelement",
    "shufflevector",
    "insertvalue",
    "extractvalue",
    "abs",
    "fabs",
    "floor",
}


@dataclass(frozen=True)
class Expected:
    """A step of a paper, in counts.

    says
        What the paper's text or listing says, and where.
    loop
        All accesses, tests of arguments and functions of its loop, and the arithmetic that matters.
    by
        The loop is the one that holds the most of what begins so.
    whole
        Of the whole kernel, what matters: 0 for what must not be there. Of a kernel without a loop, all.
    compiled
        Why the compiled kernel differs from the paper's text, where it does.
    """

    says: str
    loop: Mapping[str, int] = field(default_factory=dict)
    by: str = ""
    whole: Mapping[str, int] = field(default_factory=dict)
    compiled: str = ""
    configuration: Configuration | None = None  # of what is no preset
    problem: str = ""  # where it is not its workload's usual one

    def differences(self, kernel: Kernel) -> list[str]:
        """One line for each count that is another than expected."""
        found = []
        if self.by:
            found += _differences("loop", kernel.loop(self.by), self.loop, every=True)
        whole = kernel.counts() + Counts([f"group {kernel.group}"])
        found += _differences("whole", whole, self.whole, every=not self.by)
        return found


def _differences(where: str, counts: Counts, expected: Mapping[str, int], *, every: bool) -> list[str]:
    asked = set(expected)
    if every:
        asked |= {key for key in counts if key.split()[0] not in ARITHMETIC | {"group"} and " private " not in key}
    return [
        f"{where}: {key}: {counts[key]}, not {expected.get(key, 0)}"
        for key in sorted(asked)
        if counts[key] != expected.get(key, 0)
    ]


@dataclass(frozen=True)
class Mutant:
    """A deviation: in ``file`` each ``old`` becomes ``new``. ``right``: it still computes the same, and is run.
    ``notices`` is how the line begins by which a count must tell it."""

    does: str
    presets: tuple[str, ...]
    file: str
    old: str
    new: str
    notices: str
    right: bool = True


@dataclass(frozen=True)
class Paper:
    """The steps and mutants of a workload, and the problem of its room of tests that they run on."""

    workload: str
    problem: str
    expected: Mapping[str, Expected]
    mutants: tuple[Mutant, ...]
