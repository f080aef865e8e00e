"""Listings in SASS, the language of NVIDIA's machines from Volta on, as ``nvdisasm -c`` and ``cuobjdump --dump-sass``
print it: with and without the bits of each instruction, with and without places in the source (``nvdisasm -g``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gpuopt.lab.compiled.listing import MOST_INSTRUCTIONS, Instruction, Listing, ListingError, checked
from gpuopt.lab.compiled.loops import loops_of
from gpuopt.lab.compiled.sass_opcodes import meaning

_LINE = re.compile(r"\s*/\*([0-9a-f]{4,16})\*/(.*)")
_OPCODE = re.compile(r"(?:@!?U?P[0-9T]+ )?([A-Z][\w.]*)")
_LABEL = re.compile(r"([^\s:]+):")
_PLACE = re.compile(r'//## File "([^"]*)", line (\d{1,9})')
_TARGET = re.compile(r"(?:\.target|code for)\s+(sm_\w{2,6})")
_NAMED = re.compile(r"`\(([^`)\s]+)\)")
_INDIRECT = re.compile(r"(?:@\S+ )?CALL\S* U?R\d")
_ADDRESS = re.compile(r"0x([0-9a-f]{1,16})$")
_JUMPS = ("BRA", "BRX", "JMP", "JMX")
_REGISTERS = re.compile(r'\.sectioninfo\s+@"SHI_REGISTERS=(\d{1,3})"')  # up to sm_8x
_STEP = 16  # bytes of an instruction


@dataclass
class _Function:
    name: str
    is_kernel: bool
    instructions: list[Instruction] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    jumps: list[tuple[int, str]] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    registers: int | None = None
    end: str | None = None  # the label after its last instruction
    ended: bool = False


def read_sass(text: str) -> list[Listing]:
    """The kernels of a program, in the listing's order. ``code_bytes`` and the counts leave out what fills the space
    behind a kernel, an endless jump and instructions that do nothing; functions that a kernel calls lie inside of it
    and are counted. Raises ListingError for a text that has no kernel, is cut off or damaged."""
    functions, machine = _split(checked(text))
    kernels = [function for function in functions if function.is_kernel]
    if not kernels:
        raise ListingError("the listing has no kernel (SASS)")
    return [_listing(kernel, machine) for kernel in kernels]


def _split(text: str) -> tuple[list[_Function], str]:
    functions: list[_Function] = []
    now: _Function | None = None
    place: str | None = None
    machine = ""
    for line in text.splitlines():
        if found := _LINE.match(line):
            if now:
                _add(now, int(found[1], 16), found[2], place)
            continue
        told = line.strip()
        if told.startswith("//## "):
            place = f"{found[1]}:{found[2]}" if (found := _PLACE.match(told)) else place
        elif told.startswith((".section\t", ".section ", "Function : ")):
            now, place = _begin(told), None
            functions += [now] if now else []
        elif found := _TARGET.match(told):
            machine = found[1]
        elif now is None:
            continue
        elif found := _REGISTERS.match(told):
            now.registers = int(found[1])
        elif told.startswith(".size"):
            now.end = told.rpartition(" - ")[0].rpartition(",(")[2] or None
        elif told.startswith(".other"):
            now.is_kernel = "STO_CUDA_ENTRY" in told
        elif told.startswith("....."):
            now.ended = True
        elif found := _LABEL.fullmatch(told):
            now.labels[found[1]] = len(now.instructions)
            now.ended |= found[1] == now.end
    return functions, machine


def _begin(told: str) -> _Function | None:
    """The function that begins with this line; None for a section that is no code."""
    if told.startswith("Function : "):
        return _Function(told.removeprefix("Function : "), is_kernel=True)
    _, _, section = told.partition(".text.")
    return _Function(section.rpartition(',"')[0] or section, is_kernel=False) if section else None


def _add(function: _Function, address: int, rest: str, place: str | None) -> None:
    statement, closed, _ = rest.partition(";")
    text = " ".join(statement.split())
    found = _OPCODE.match(text)
    if not closed or not found or (function.addresses and address <= function.addresses[-1]):
        raise ListingError(f"the listing of {function.name} is cut off or damaged at address {address:#x}")
    at = len(function.instructions)
    if at >= MOST_INSTRUCTIONS:
        raise ListingError(f"the listing of {function.name} has more than {MOST_INSTRUCTIONS:,} instructions")
    opcode = found[1]
    if opcode.startswith(_JUMPS):
        function.jumps += [(at, target) for target in _targets(text)]
    elif opcode.startswith("CALL"):
        function.called.update(_targets(text) if not _INDIRECT.match(text) else [""])
    function.instructions.append(Instruction(text, opcode, *meaning(opcode, text), place=place))
    function.addresses.append(address)


def _targets(text: str) -> list[str]:
    """Where a jump goes: labels (nvdisasm) or an address (cuobjdump); none where only the machine knows."""
    if table := text.partition("BRANCH_TARGETS ")[2]:
        return table.partition('"')[0].replace(",", " ").split()
    named = _NAMED.findall(text)
    return named or [f"{int(found[1], 16):#x}" for found in [_ADDRESS.search(text)] if found]


def _listing(kernel: _Function, machine: str) -> Listing:
    if not kernel.instructions or not kernel.ended:
        raise ListingError(f"the listing of {kernel.name} is cut off")
    places = {f"{address:#x}": at for at, address in enumerate(kernel.addresses)} | kernel.labels
    jumps = [(at, places[target]) for at, target in kernel.jumps if target in places]
    count = _without_padding(kernel, set(jumps))
    stops = ("BRA", "EXIT", "RET", "BRX", "JMP")
    ends = {
        at
        for at, each in enumerate(kernel.instructions[:count])
        if each.opcode.startswith(stops) and each.text[0] != "@"
    }
    notes = [f"SASS {machine}".strip()]
    if inside := kernel.called & places.keys():
        notes.append(f"its instructions include those of {len(inside)} functions that it calls")
    if outside := sorted(kernel.called - inside):
        named = ", ".join(name or "functions by their address" for name in outside[:3])
        notes.append(f"calls {named}: what is done there is not counted")
    return Listing(
        kernel.name,
        kernel.instructions[:count],
        loops_of(count, jumps, ends),
        registers=kernel.registers,
        code_bytes=(kernel.addresses[count:] or [kernel.addresses[-1] + _STEP])[0] - kernel.addresses[0],
        notes=notes,
    )


def _without_padding(kernel: _Function, jumps: set[tuple[int, int]]) -> int:
    """How many instructions there are before those that only fill the space behind a kernel."""
    count = len(kernel.instructions)
    while count > 1 and kernel.instructions[count - 1].opcode == "NOP":
        count -= 1
    endless = count > 1 and kernel.instructions[count - 1].opcode == "BRA" and (count - 1, count - 1) in jumps
    return count - endless
