"""What NVIDIA's assembler says of a kernel's registers and memory: the output of ``ptxas -v``, or the build log of a
program built with ``-cl-nv-verbose``, which holds the same lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuopt.lab.compiled.listing import checked

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '(\w+)'")
_PROPERTIES = re.compile(r"Function properties for '?([^'\s]+)")
_SPILLS = re.compile(r"(\d{1,12}) bytes stack frame, (\d{1,12}) bytes spill stores, (\d{1,12}) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d{1,12}) registers")
_BARRIERS = re.compile(r"used (\d{1,12}) barriers")
_SHARED = re.compile(r"(?:(\d{1,12})\+)?\b(\d{1,12}) bytes smem")  # up to CUDA 5 declared + added by the system


@dataclass(frozen=True, slots=True)
class Usage:
    """What a kernel needs.

    machine
        For which it was assembled, such as ``sm_90a``; the PTX may name another.
    registers
        32-bit ones of a work-item.
    stack_bytes
        Private memory of a work-item: arrays, and registers that did not fit.
    spill_store_bytes, spill_load_bytes
        What the instructions that write and read such registers move, each counted once.
    shared_bytes
        Local memory of a work-group that is declared in the kernel.
    barriers
        Of a work-group; None where an older version tells none.
    """

    machine: str
    registers: int | None = None
    stack_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    shared_bytes: int | None = None
    barriers: int | None = None


def read_ptxas(text: str) -> dict[str, Usage]:
    """What is said of each kernel, by its name; of a kernel that was assembled twice, what came last. Functions that
    kernels call are left out: a kernel's registers hold theirs. Empty where nothing is said, as a driver does of a
    program that it had in its cache. Raises ListingError for a text that is too large."""
    found: dict[str, Usage] = {}
    entry = machine = ""
    is_entry = False  # the stack frame at hand is that of the entry
    numbers: dict[str, int] = {}
    for line in checked(text).splitlines():
        if told := _ENTRY.search(line):
            entry, machine = told.groups()
            numbers, is_entry = {}, False
            found.pop(entry, None)
        elif told := _PROPERTIES.search(line):
            is_entry = told[1] == entry
        elif (told := _SPILLS.search(line)) and is_entry:
            names = ("stack_bytes", "spill_store_bytes", "spill_load_bytes")
            numbers |= dict(zip(names, map(int, told.groups()), strict=True))
        elif entry and "registers" not in numbers and (told := _REGISTERS.search(line)):
            numbers["registers"] = int(told[1])
            if barriers := _BARRIERS.search(line):
                numbers["barriers"] = int(barriers[1])
            shared = _SHARED.search(line)
            numbers["shared_bytes"] = int(shared[1] or 0) + int(shared[2]) if shared else 0
        else:
            continue
        if numbers:
            found[entry] = Usage(machine, **numbers)
    return found
