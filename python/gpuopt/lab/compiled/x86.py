"""Disassembled x86-64, as GNU binutils and LLVM print it: `objdump -d -r -M intel`. In Intel's syntax the first operand
is the one that is written, and opcodes carry no letter for their operands' size, so that one table serves both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuopt.lab.compiled import kept, tools
from gpuopt.lab.compiled.listing import MOST_INSTRUCTIONS, Instruction, Listing, ListingError, Loop, checked
from gpuopt.lab.compiled.loops import loops_of
from gpuopt.lab.compiled.tools import ToolError
from gpuopt.lab.compiled.x86_opcodes import Statement, is_float, read, statement
from gpuopt.signals import let_through

TOOLS = ("objdump", "llvm-objdump", *(f"llvm-objdump-{version}" for version in range(30, 13, -1)))
_SHOWN = ("-d", "-r", "-M", "intel")
_LABEL = re.compile(r"[0-9a-f]{1,16} <([^>]+)>:$")
_LINE = re.compile(r"[ ]*([0-9a-f]{1,16}):[ \t]+((?:[0-9a-f]{2} )*[0-9a-f]{2})[ ]*(?:\t(.*))?$")
_SYMBOL = re.compile(r"\s+[0-9a-f]{1,16}:\s+R_X86_64_\w+\s+(\S+)$")
_TARGET = re.compile(r"(?:0x)?([0-9a-f]{1,16})(?: <([^>]*)>)?$")
_ADDEND = re.compile(r"[+-]0x[0-9a-f]+$")
_DEEPEST = 16  # functions that call each other
_LONGEST = 16384  # characters of a line; names of functions may be long


@dataclass(slots=True)
class _Printed:
    """A line of the disassembly, and the symbol that the linker puts its address in for."""

    address: int
    bytes: int
    text: str
    symbol: str = ""


@dataclass
class _Function:
    """A function read: its instructions, and by their places the jumps within it, what it calls and where it ends."""

    instructions: list[Instruction] = field(default_factory=list)
    bytes: int = 0
    jumps: list[tuple[int, int]] = field(default_factory=list)
    calls: dict[int, str] = field(default_factory=dict)
    ends: set[int] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)


@dataclass
class _Whole:
    """A kernel and what it calls, in one row."""

    instructions: list[Instruction] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    bytes: int = 0
    taken: dict[str, None] = field(default_factory=dict)
    outside: dict[str, None] = field(default_factory=dict)
    notes: set[str] = field(default_factory=set)


def disassembled(path: Path) -> tuple[str, str]:
    """The disassembly of an object file, and the tool that made it with its version. Raises ToolError."""
    tool = tools.needed(*TOOLS)
    try:
        content = path.read_bytes()
    except OSError as error:
        let_through(error)
        raise ToolError(f"{path} cannot be read: {error.strerror or error}") from error
    command = [tool, *_SHOWN, str(path)]
    (text,) = kept.texts([content, *_SHOWN], [kept.tool(tool)], lambda: [tools.run(command)])
    return text, f"{Path(tool).name} {tools.version(tool)}"


def functions(text: str) -> list[str]:
    """The functions of a disassembly."""
    return [found[1] for line in checked(text).splitlines() if (found := _LABEL.match(line))]


def read_objdump(text: str, function: str) -> Listing:
    """The listing of a function of a disassembly. A function that it calls and that is in the disassembly too follows
    behind its first call, so that it lies inside the loops of that call; each counts once, however often it is called.

    Local memory is main memory on a CPU: reading and writing it counts as ``fetch`` and ``store``. The stack is private
    memory, but of a whole work-group: ``scratch_bytes`` stays None. Raises ListingError.
    """
    printed = _split(checked(text))
    if function not in printed:
        raise ListingError(f"the disassembly has no function {function}")
    whole = _Whole()
    _take(function, printed, whole, 0)
    if not whole.instructions:
        raise ListingError(f"the function {function} has no instructions")
    called = list(whole.taken)[1:]
    notes = [f"with what it calls: {', '.join(called)}"] if called else []
    notes += [f"calls, not counted here: {', '.join(whole.outside)}"] if whole.outside else []
    return Listing(
        function,
        whole.instructions,
        tuple(sorted(whole.loops, key=lambda loop: (loop.first, -loop.last))),
        code_bytes=whole.bytes,
        notes=(*notes, *sorted(whole.notes)),
    )


def vector_share(listing: Listing) -> float | None:
    """Of a listing's floating-point arithmetic, the part on registers as wide as its widest vector registers: how many
    work on all lanes. None where it has no such arithmetic."""
    widths = [each.bits for each in listing.instructions if is_float(each)]
    widest = max((each.bits for each in listing.instructions), default=0)
    return sum(bits == widest >= 128 for bits in widths) / len(widths) if widths else None


def _split(text: str) -> dict[str, list[_Printed]]:
    """The lines of each function; of several of one name the first counts."""
    found: dict[str, list[_Printed]] = {}
    now: list[_Printed] = []
    count = 0
    for line in text.splitlines():
        if len(line) > _LONGEST:
            raise ListingError(f"the disassembly has a line of {len(line):,} characters")
        if label := _LABEL.match(line):
            now = []
            found.setdefault(label[1], now)
        elif part := _LINE.match(line):
            size = (len(part[2]) + 1) // 3
            said = (part[3] or "").partition("#")[0].strip()
            if said:
                now.append(_Printed(int(part[1], 16), size, said))
                count += 1
            elif now:  # GNU's continues long instructions on a second line
                now[-1].bytes += size
            if count > MOST_INSTRUCTIONS:
                raise ListingError(f"the disassembly has more than {MOST_INSTRUCTIONS:,} instructions")
        elif now and (symbol := _SYMBOL.match(line)):
            now[-1].symbol = _ADDEND.sub("", symbol[1])
    return found


def _take(name: str, printed: Mapping[str, list[_Printed]], whole: _Whole, depth: int) -> None:
    """Adds a function, and behind its first call each that it calls."""
    whole.taken[name] = None
    one = _function(printed[name])
    at: list[int] = []
    for place, instruction in enumerate(one.instructions):
        at.append(len(whole.instructions))
        whole.instructions.append(instruction)
        called = one.calls.get(place, name)
        if called not in printed or (called not in whole.taken and depth == _DEEPEST):
            whole.outside[called] = None
        elif called not in whole.taken:
            _take(called, printed, whole, depth + 1)
    loops = loops_of(len(at), one.jumps, one.ends)
    whole.loops += [Loop(at[loop.first], at[loop.last]) for loop in loops]
    whole.bytes += one.bytes
    whole.notes |= one.notes


def _function(lines: list[_Printed]) -> _Function:
    """Reads a function, less the padding behind it."""
    said = [statement(line.text) for line in lines]
    while said and said[-1].is_nothing:
        said.pop()
    frames = _frames(said)
    one = _Function()
    symbols: dict[str, str] = {}  # by register, what it has the address of
    places: dict[int, int] = {}
    targets: list[tuple[int, int]] = []
    for line, each in zip(lines, said, strict=False):
        places.setdefault(line.address, len(one.instructions))
        one.bytes += line.bytes
        if each.is_branch:
            _branch(one, line, each, symbols, targets)
        literals = {register for register, symbol in symbols.items() if symbol.startswith(".")}
        one.instructions += read(each, frames, literals)
        if each.is_branch and each.opcode == "call":
            symbols.clear()
        elif written := each.written:
            symbols.pop(written, None)
            if each.opcode == "movabs" and line.symbol:
                symbols[written] = line.symbol
    one.jumps = [(place, places[target]) for place, target in targets if target in places]
    return one


def _branch(
    one: _Function, line: _Printed, said: Statement, symbols: Mapping[str, str], targets: list[tuple[int, int]]
) -> None:
    """Notes where a jump, a call or a return leads."""
    place = len(one.instructions)
    if said.opcode == "jmp" or said.opcode.startswith("ret"):
        one.ends.add(place)
    if not said.operands:
        return
    target = _TARGET.match(said.operands[0])
    if target is None:
        if symbol := symbols.get(said.operands[0]):
            one.calls[place] = symbol
        else:
            one.notes.add("jumps by a table, which is not followed" if said.opcode == "jmp" else "calls by an address")
    elif line.symbol and not line.symbol.startswith("."):
        one.calls[place] = line.symbol
    elif target[2] and "+0x" not in target[2] and said.opcode in ("call", "jmp"):
        one.calls[place] = target[2]
    if target and said.opcode != "call":
        targets.append((place, int(target[1], 16)))


def _frames(said: list[Statement]) -> set[str]:
    """The registers that hold an address in the stack throughout, beside rsp."""
    found = set()
    for register in ("rbp", "rbx"):
        writers = [each for each in said if each.written == register and each.opcode != "pop"]
        if writers and all(each.opcode == "mov" and each.operands[1:] == ["rsp"] for each in writers):
            found.add(register)
    return found
