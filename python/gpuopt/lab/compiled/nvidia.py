"""NVIDIA's machines: how many warps of a kernel fit a multiprocessor, and the way from PTX to what the machine runs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpuopt._core import ParameterError
from gpuopt.lab.compiled import tools
from gpuopt.lab.compiled.tools import ToolError

WARP = 32  # work-items
REGISTERS = 65536  # of a multiprocessor, 32 bits each
MOST_REGISTERS = 255  # of a work-item
MOST_ITEMS = 1024  # of a work-group
PARTITIONS = 4  # of a multiprocessor, each with its own registers
_UNIT = 256  # registers are handed out to a warp by so many
_RESERVED = 1024  # bytes of local memory that the driver takes of each group, from 8.0 on


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """The most warps, work-groups and bytes of local memory that it can hold."""

    warps: int
    groups: int
    local_bytes: int


# NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": warps, work-groups and local
# memory of a multiprocessor, registers. CUDA 13.0, cuda_occupancy.h: work-groups and local memory again, units of
# allocation, partitions, and how the limits are combined. Volta's row was in the guide up to CUDA 12.
_MULTIPROCESSORS = {
    "7.0": Multiprocessor(64, 32, 96 * 1024),
    "7.5": Multiprocessor(32, 16, 64 * 1024),
    "8.0": Multiprocessor(64, 32, 164 * 1024),
    "8.6": Multiprocessor(48, 16, 100 * 1024),
    "8.7": Multiprocessor(48, 16, 164 * 1024),
    "8.9": Multiprocessor(48, 24, 100 * 1024),
    "9.0": Multiprocessor(64, 32, 228 * 1024),
    "10.0": Multiprocessor(64, 32, 228 * 1024),
    "10.3": Multiprocessor(64, 32, 228 * 1024),
    "12.0": Multiprocessor(48, 24, 100 * 1024),
    "12.1": Multiprocessor(48, 24, 100 * 1024),
}


def capability(machine: str) -> str:
    """The compute capability of a machine as compilers name it: ``9.0`` of ``sm_90a``; "" of what is no such name."""
    found = re.fullmatch(r"sm_(\d{1,2})(\d)[af]?", machine)
    return f"{found[1]}.{found[2]}" if found else ""


def occupancy(registers: int, group_items: int, local_bytes: int, unit: str) -> tuple[int | None, str]:
    """How many warps of a kernel a multiprocessor holds at once, and what keeps more of them away: "registers", "group
    size" (whole groups leave warps free), "local memory", "groups" (their number) or "warps" (it holds as many as it
    can); 0 and "registers", "group size" or "local memory" where not one group fits.

    registers
        Of a work-item, 32 bits each.
    group_items
        Work-items of a group.
    local_bytes
        Local memory of a group: what the kernel declares and what it is given at launch.
    unit
        The compute capability, such as ``9.0``. Of one that is not known here the result is None and a reason.

    The limits are combined as in NVIDIA's cuda_occupancy.h; all of a multiprocessor's memory that can be local is taken
    to be. Raises ParameterError.
    """
    for name, value, least in (
        ("registers", registers, 0),
        ("group_items", group_items, 1),
        ("local_bytes", local_bytes, 0),
    ):
        if value < least:
            raise ParameterError(f"{name}: it is {value}; give a whole number of at least {least}")
    if (has := _MULTIPROCESSORS.get(unit)) is None:
        return None, f"the limits of compute capability {unit} are not known"
    warps = -(-group_items // WARP)  # of a group
    major = int(unit.partition(".")[0])
    # A work-item that uses no registers is still given some.
    of_warp = _rounded(max(registers, 1) * WARP, _UNIT)
    # A launch is refused by registers as if its warps filled all partitions evenly.
    fits = registers <= MOST_REGISTERS and of_warp * _rounded(warps, PARTITIONS) <= REGISTERS
    taken = _rounded(local_bytes + (_RESERVED if major >= 8 else 0), 128 if major >= 8 else 256)
    # Of limits that allow the same number of groups the first is named: what a kernel's author can change.
    limits = {
        "registers": REGISTERS // PARTITIONS // of_warp * PARTITIONS // warps if fits else 0,
        **({"local memory": has.local_bytes // taken} if taken else {}),
        "group size": has.warps // warps if group_items <= MOST_ITEMS else 0,
        "groups": has.groups,
    }
    groups = min(limits.values())
    if groups * warps == has.warps:
        return has.warps, "warps"
    return groups * warps, next(name for name, most in limits.items() if most == groups)


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit


class Run(Protocol):
    """What runs a program without a shell: :func:`gpuopt.lab.compiled.tools.run`. With ``errors`` its result has what
    the program says of errors, too."""

    def __call__(self, command: list[str], *, folder: Path | None = None, errors: bool = False) -> str: ...


@dataclass(frozen=True, slots=True)
class Assembled:
    """What NVIDIA's tools make of PTX.

    sass
        The disassembled program, for :func:`gpuopt.lab.compiled.sass.read_sass`.
    log
        What ``ptxas -v`` says, for :func:`gpuopt.lab.compiled.ptxas.read_ptxas`.
    machine
        For which it was assembled: ``sm_90a`` where ``sm_90`` would not do.
    """

    sass: str
    log: str
    machine: str


def assemble(ptx: str | bytes, machine: str, run: Run = tools.run) -> Assembled:
    """Assembles PTX, such as a driver's program, for a machine such as ``sm_90``, and disassembles the result.

    Instructions that one generation alone has, such as Hopper's wgmma, are there for ``sm_90a`` only: what is refused
    for ``sm_90`` is tried for that. Raises ParameterError for a name that is no machine's, ToolError where a tool is
    missing or refuses the text.
    """
    if not capability(machine):
        raise ParameterError(f"machine: {machine!r} is none of NVIDIA's; give a name such as 'sm_90'")
    ptxas = tools.needed("ptxas")
    disassembler = tools.needed("nvdisasm", "cuobjdump")
    shown = ["-c"] if Path(disassembler).name == "nvdisasm" else ["--dump-sass"]
    text = ptx.partition(b"\0")[0] if isinstance(ptx, bytes) else ptx.partition("\0")[0].encode()
    with tools.folder_with("kernel.ptx", text) as folder:
        log, machine = _assembled(ptxas, [machine, *_with_more(machine)], folder, run)
        return Assembled(run([disassembler, *shown, "kernel.cubin"], folder=folder), log, machine)


def usage(ptx: str | bytes, machine: str, run: Run = tools.run) -> tuple[str, str]:
    """What ``ptxas -v`` says of PTX, for :func:`gpuopt.lab.compiled.ptxas.read_ptxas`, and the machine that it was
    assembled for, which :func:`assemble` finds so, too. Raises as it does."""
    if not capability(machine):
        raise ParameterError(f"machine: {machine!r} is none of NVIDIA's; give a name such as 'sm_90'")
    ptxas = tools.needed("ptxas")
    text = ptx.partition(b"\0")[0] if isinstance(ptx, bytes) else ptx.partition("\0")[0].encode()
    with tools.folder_with("kernel.ptx", text) as folder:
        return _assembled(ptxas, [machine, *_with_more(machine)], folder, run)


def _with_more(machine: str) -> list[str]:
    """The name of the same machine with the instructions that no other generation has; they began with 9.0."""
    return [f"{machine}a"] if machine[-1].isdigit() and float(capability(machine)) >= 9 else []


def _assembled(ptxas: str, machines: list[str], folder: Path, run: Run) -> tuple[str, str]:
    """What ptxas says, and the first of the machines for which it takes the text."""
    refused: list[ToolError] = []
    for machine in machines:
        try:
            command = [ptxas, "-v", f"-arch={machine}", "kernel.ptx", "-o", "kernel.cubin"]
            return run(command, folder=folder, errors=True), machine
        except ToolError as error:
            refused.append(error)
    raise refused[0]
