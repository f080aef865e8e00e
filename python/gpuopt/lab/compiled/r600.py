"""Listings of LLVM's r600 target: AMD's VLIW generations, such as the HD 5870 (Cypress).

A listing has a kernel's control flow first, whose lines name clauses by their address; the clauses follow. Here they
stand where control flow names them, so that loops hold their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuopt.lab.compiled.listing import (
    MOST_INSTRUCTIONS,
    Instruction,
    Kind,
    Listing,
    ListingError,
    Loop,
    Trait,
    checked,
)
from gpuopt.lab.compiled.places import Places

_LABEL = re.compile(r"([A-Za-z_][\w$.]*):")
_CLAUSE = re.compile(r"(?:Fetch|ALU) clause starting at (\d{1,9}):")
_NAMED = re.compile(r"(ALU\w*|TEX|VTX)\s.*?@(\d{1,9})")
_SLOTS = {"cayman": 4, "aruba": 4}  # of the others 5
_PARTS = 128  # registers that wavefronts share (Jang 2009, section 3.2)
_SPECIAL = ("RECIP", "RCP_", "RSQ", "SQRT", "EXP_IEEE", "EXP_CLAMPED", "LOG_", "SIN", "COS")


@dataclass
class _Kernel:
    name: str
    registers: int | None
    is_whole: bool = False
    flow: list[tuple[str, str | None]] = field(default_factory=list)  # lines of control flow, and their places
    clauses: dict[int, list[Instruction]] = field(default_factory=dict)


def read(text: str, chip: str = "cypress") -> list[Listing]:
    """The kernels of a listing, with functions that stand beside them as far as these can be read: this hardware calls
    none. Raises ListingError where nothing can be read."""
    kernels = _split(checked(text))
    if not kernels:
        raise ListingError("the listing has no kernel")
    found: list[Listing] = []
    refused: list[ListingError] = []
    for kernel in kernels:
        try:
            found.append(_listing(kernel, _SLOTS.get(chip, 5)))
        except ListingError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def _split(text: str) -> list[_Kernel]:
    kernels: list[_Kernel] = []
    functions: set[str] = set()
    longs: list[int] = []
    clause: list[Instruction] | None = None
    places = Places()
    for raw in text.splitlines():
        line = raw.split(";")[0].strip()
        if not line:
            continue
        if line.startswith("."):
            words = line.split()
            if line.startswith(".type") and line.endswith("@function"):
                functions.add(words[1].split(",")[0])
            elif words[0] == ".size" and kernels and words[1:2] == [f"{kernels[-1].name},"]:
                kernels[-1].is_whole = True
            elif line.startswith(".section"):
                longs = []
            elif words[0] == ".long" and len(words) == 2 and words[1].isdigit() and len(words[1]) < 12:
                longs.append(int(words[1]))
            else:
                places.read(line)
            continue
        if (found := _LABEL.fullmatch(line)) and found[1] in functions:
            registers = longs[1] & 0xFF if len(longs) > 1 else None
            kernels.append(_Kernel(found[1], registers))
            clause, places.now = None, None
        elif not kernels or line.endswith("$local:"):
            continue
        elif found := _CLAUSE.fullmatch(line):
            clause = kernels[-1].clauses.setdefault(int(found[1]), [])
        elif clause is None:
            kernels[-1].flow.append((line, places.now))
        elif line[0].isalpha():
            _add(clause, line, places.now)
    return kernels


def _add(clause: list[Instruction], line: str, place: str | None) -> None:
    words = line.split()
    opcode = words[0]
    fetches = opcode.startswith(("VTX_", "TEX_"))
    kind: Kind = "fetch" if fetches else _local_kind(opcode) if opcode.startswith("LDS_") else "alu"
    ends = not fetches and words[1:2] == ["*"]
    clause.append(Instruction(line, opcode, kind, _traits(opcode), ends, place=place))


def _local_kind(opcode: str) -> Kind:
    """Of an instruction of local memory: what neither reads alone nor writes alone is an atomic operation."""
    return "local" if "READ" in opcode or "WRITE" in opcode else "atomic"


def _traits(opcode: str) -> frozenset[Trait]:
    traits: list[Trait] = []
    if opcode.startswith(("MULADD", "FMA")):
        traits.append("fma")
    if "_64" in opcode:
        traits.append("double")
    if opcode.startswith(_SPECIAL):
        traits.append("special")
    return frozenset(traits)


def _listing(kernel: _Kernel, slots: int) -> Listing:
    instructions: list[Instruction] = []
    loops: list[Loop] = []
    starts: list[int] = []
    for line, place in kernel.flow:
        opcode = line.split()[0]
        if found := _NAMED.match(line):
            clause = kernel.clauses.get(int(found[2]))
            if clause is None:
                raise ListingError(f"the listing of {kernel.name} is cut off: its clause at {found[2]} is missing")
            instructions += clause
        elif opcode.startswith("LOOP_START"):
            starts.append(len(instructions))
        elif opcode == "END_LOOP":
            if not starts:
                raise ListingError(f"the listing of {kernel.name} ends a loop that does not begin")
            instructions.append(Instruction(line, opcode, "branch", place=place))
            loops.append(Loop(starts.pop(), len(instructions) - 1))
        elif opcode != "PAD":
            instructions.append(Instruction(line, opcode, _flow_kind(opcode, line), place=place))
        if len(instructions) > MOST_INSTRUCTIONS:
            raise ListingError(f"the listing of {kernel.name} has more than {MOST_INSTRUCTIONS:,} instructions")
    if not kernel.is_whole or starts:
        raise ListingError(f"the listing of {kernel.name} is cut off")
    return Listing(
        kernel.name,
        instructions,
        _in_order(loops),
        registers=kernel.registers,
        occupancy=_PARTS // kernel.registers if kernel.registers else None,
        occupancy_by="registers" if kernel.registers else None,
        slots=slots,
    )


def _in_order(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    return tuple(sorted(loops, key=lambda loop: (loop.first, -loop.last)))


def _flow_kind(opcode: str, line: str) -> Kind:
    """Of a line of control flow that names no clause."""
    if "STORE" in line or opcode.startswith(("MEM_", "EXPORT")):
        return "atomic" if "ATOMIC" in line or "_RET" in opcode or "_NORET" in opcode else "store"
    return "other" if opcode in ("GROUP_BARRIER", "CF_END", "NOP", "WAIT_ACK") else "branch"
