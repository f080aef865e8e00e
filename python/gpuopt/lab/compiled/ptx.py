"""Listings in PTX, NVIDIA's language between compiler and machine: what its driver gives as a program's binary, and
what clang makes for nvptx64. Its registers are virtual: how many there will be, ``ptxas`` decides."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import prod

from gpuopt.lab.compiled.flow import whole_loops
from gpuopt.lab.compiled.listing import MOST_INSTRUCTIONS, Instruction, Listing, ListingError, Loop, checked
from gpuopt.lab.compiled.places import Places
from gpuopt.lab.compiled.ptx_opcodes import meaning

NOTE = "PTX (virtual registers)"
MOST_DEEP = 100  # scopes in scopes
MOST_LENGTHS = 8  # of an array

_PIECE = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | "(?:[^"\\\n]|\\.)*"? | \n | :: | [{};:] | [^\n/{};:"]+;? | /""",
    re.DOTALL | re.VERBOSE,
)
_FILE = re.compile(r"^[ \t]*(\.file[ \t][^\n]*)", re.MULTILINE)
_WHOLE_LINES = (".loc", ".file", ".version", ".target", ".address_size")  # end with the line, not with a semicolon
_BLOCKS = (".section", ".metadata")
_NAME = re.compile(r"[\w$%]+")
_INSTRUCTION = re.compile(r"(?:@!?[\w$%]+ )?([a-z][\w.:]*)")
_ENTRY = re.compile(r"\s+([^\s(]+)")
_FUNCTION = re.compile(r"\s*(?:\([^)]*\)\s*)?([^\s(]+)")
_TYPE = re.compile(r"\.[a-z]+(\d{1,3})(x2)?")
_LENGTH = re.compile(r"\[([^\[\]]*)\]")

_DRIVERS = {"vprintf", "malloc", "free", "__assertfail"}  # functions that NVIDIA's driver adds itself


@dataclass
class _Scope:
    """Braces within a function: labels are known inside them alone."""

    labels: dict[str, int] = field(default_factory=dict)
    jumps: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class _Function:
    name: str
    is_kernel: bool
    instructions: list[Instruction] = field(default_factory=list)
    scopes: list[_Scope] = field(default_factory=lambda: [_Scope()])
    jumps: list[tuple[int, int]] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)  # of labels, by the label before it
    ways: int = 0  # that jumps can take
    local_bytes: int | None = 0
    private_bytes: int | None = 0
    called: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)  # variables of the module that it names


def read_ptx(text: str) -> list[Listing]:
    """The kernels of a program, in its order; a driver's ends in a NUL byte. The instructions of a loop stand together,
    which clang does not see to: where they are scattered, they are put into another order.

    ``local_bytes`` and ``scratch_bytes`` are what is declared: padding between arrays, and registers that ``ptxas``
    spills, come on top. Raises ListingError for a text that has no kernel or is cut off, and where a kernel calls what
    the text does not define: its numbers would be of another program.
    """
    reader = _Reader(checked(text).partition("\0")[0])
    reader.read()
    kernels = [function for function in reader.functions if function.is_kernel]
    if not kernels:
        raise ListingError("the listing has no kernel (PTX: .entry)")
    defined = {function.name for function in reader.functions} | _DRIVERS
    return [_listing(kernel, defined, reader.shared) for kernel in kernels]


class _Reader:
    """Goes through a text statement by statement."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.functions: list[_Function] = []
        self.shared: dict[str, int | None] = {}  # bytes of local memory that are declared outside of functions
        self._pending: list[str] = []  # of the statement at hand
        self._operands = 0  # braces that are open in it
        self._skipped = 0  # braces that are open outside of functions
        self._function: _Function | None = None
        self._places = Places()
        self._table = ""  # the label at hand

    def read(self) -> None:
        for found in _FILE.finditer(self.text):  # clang writes them last
            self._places.read(found[1])
        for found in _PIECE.finditer(self.text):
            piece = found[0]
            if piece == "\n":
                self._end_line()
            elif piece[0] in '/"':
                if piece[:2] not in ("//", "/*"):
                    self._add_piece(piece)
            elif piece[-1] == ";":
                self._add_piece(piece[:-1])
                self._end_statement()
            elif piece == "{":
                self._open()
            elif piece == "}":
                self._close()
            elif piece == ":" and len(self._pending) == 1 and _NAME.fullmatch(self._pending[0].rstrip()):
                self._label(self._pending[0].rstrip())
            else:
                self._add_piece(piece)
        if self._function or self._skipped:
            raise ListingError(f"the listing{f' of {self._function.name}' if self._function else ''} is cut off")

    def _add_piece(self, piece: str) -> None:
        if not self._skipped and (piece := piece if self._pending else piece.lstrip()):
            self._pending.append(piece)

    def _end_line(self) -> None:
        if self._pending:
            if self._pending[0].startswith(_WHOLE_LINES):
                self._places.read("".join(self._pending).strip())
                self._pending.clear()
            else:
                self._pending.append(" ")

    def _open(self) -> None:
        if self._skipped:
            self._skipped += 1
        elif self._function is None:
            self._function = _head("".join(self._pending))
            self._places.now = None
            self._pending.clear()
            self._skipped = int(self._function is None)
        elif self._pending:
            self._pending.append("{")
            self._operands += 1
        else:
            self._function.scopes.append(_Scope())
            if len(self._function.scopes) > MOST_DEEP:
                raise ListingError(f"the listing of {self._function.name} is nested more than {MOST_DEEP} deep")

    def _close(self) -> None:
        if self._skipped:
            self._skipped -= 1
        elif self._operands:
            self._operands -= 1
            self._pending.append("}")
        elif self._function is not None:
            self._pending.clear()
            _end_scope(self._function)
            if not self._function.scopes:
                self.functions.append(self._function)
                self._function = None

    def _label(self, name: str) -> None:
        self._pending.clear()
        self._table = name
        if self._function is not None and not self._skipped:
            self._function.scopes[-1].labels.setdefault(name, len(self._function.instructions))

    def _end_statement(self) -> None:
        text = " ".join("".join(self._pending).split())
        self._pending.clear()
        self._operands = 0
        function = self._function
        if self._skipped or not text:
            return
        if function is None:
            if " .shared " in f" {text} ":
                self.shared.update(_variables(text))
        elif text[0] != ".":
            if found := _INSTRUCTION.match(text):
                self._add(function, text, found[1], text[found.end() :].strip())
        elif text.startswith(".branchtargets"):
            function.tables[self._table] = text.removeprefix(".branchtargets").replace(",", " ").split()
        elif text.startswith((".shared ", ".local ")):
            sizes = _variables(text).values()
            if text.startswith(".shared "):
                function.local_bytes = _sum([function.local_bytes, *sizes])
            else:
                function.private_bytes = _sum([function.private_bytes, *sizes])

    def _add(self, function: _Function, text: str, opcode: str, rest: str) -> None:
        at = len(function.instructions)
        if at >= MOST_INSTRUCTIONS:
            raise ListingError(f"the listing of {function.name} has more than {MOST_INSTRUCTIONS:,} instructions")
        kind, traits = meaning(opcode)
        if kind == "branch":
            if opcode.startswith(("bra", "brx")):
                function.scopes[-1].jumps.append((at, rest.rpartition(",")[2].strip()))
            elif opcode.startswith("call"):
                function.called.add(_called(rest))
        if self.shared:
            function.shared |= self.shared.keys() & set(_NAME.findall(rest))
        function.instructions.append(Instruction(text, opcode, kind, traits, place=self._places.now))


def _head(text: str) -> _Function | None:
    """The function that a body follows; None for what else has braces."""
    for word, pattern in ((".entry", _ENTRY), (".func", _FUNCTION)):
        if (rest := text.partition(word)[2]) and (found := pattern.match(rest)) and not text.startswith(_BLOCKS):
            return _Function(found[1], word == ".entry")
    return None


def _end_scope(function: _Function) -> None:
    scope = function.scopes.pop()
    for at, label in scope.jumps:
        targets = function.tables.get(label, [label])
        function.ways += len(targets)
        if function.ways > MOST_INSTRUCTIONS:
            raise ListingError(f"the listing of {function.name} jumps to more than {MOST_INSTRUCTIONS:,} places")
        for target in targets:
            if target in scope.labels:
                function.jumps.append((at, scope.labels[target]))
            elif function.scopes:
                function.scopes[-1].jumps.append((at, target))


def _variables(text: str) -> dict[str, int | None]:
    """Bytes of what a line such as `.shared .align 4 .b8 a[256], b[4][8]` declares, by name. None where the text does
    not say it in plain numbers; an array without length, which the launch gives one, has 0."""
    words = text.split()
    at = max(place for place, word in enumerate(words) if word.startswith("."))
    kind = _TYPE.fullmatch(words[at])
    vector = {".v2": 2, ".v4": 4, ".v8": 8}.get(words[at - 1], 1)
    element = int(kind[1]) // 8 * vector * (2 if kind[2] else 1) if kind else None
    found: dict[str, int | None] = {}
    for declared in " ".join(words[at + 1 :]).split(","):
        lengths = [length.strip() or "0" for length in _LENGTH.findall(declared)]
        plain = len(lengths) <= MOST_LENGTHS and all(length.isdecimal() and len(length) < 12 for length in lengths)
        name = declared.partition("[")[0].strip()
        found[name] = element * prod(map(int, lengths)) if element is not None and plain else None
    return found


def _sum(sizes: list[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _called(rest: str) -> str:
    """The function in `(result), function, (arguments)`."""
    if rest.startswith("("):
        rest = rest.partition(")")[2].lstrip(" ,")
    words = rest.partition(",")[0].split()
    return words[-1] if words else ""  # clang -g puts a label before the name


def _in_order(kernel: _Function) -> tuple[list[Instruction], tuple[Loop, ...]]:
    """clang scatters the blocks of a loop over a kernel."""
    jumps: dict[int, list[int]] = {}
    for at, target in kernel.jumps:
        jumps.setdefault(at, []).append(target)
    ends = {
        at
        for at, each in enumerate(kernel.instructions)
        if each.kind == "branch" and each.text[0] != "@" and not each.opcode.startswith("call")
    }
    order, loops = whole_loops(len(kernel.instructions), jumps, ends)
    return [kernel.instructions[at] for at in order], loops


def _listing(kernel: _Function, defined: set[str], shared: dict[str, int | None]) -> Listing:
    if not kernel.instructions:
        raise ListingError(f"the listing of {kernel.name} has no instructions")
    pointers = {name for name in kernel.called if name.startswith("%")}
    if missing := sorted(kernel.called - pointers - defined):
        raise ListingError(
            f"the kernel {kernel.name} calls {', '.join(missing[:3])}, which the listing does not define"
        )
    notes = [NOTE]
    if named := sorted(kernel.called - pointers):
        notes.append(f"calls {', '.join(named[:3])}: what is done there is not counted")
    if pointers:
        notes.append("calls functions by their address: what is done there is not counted")
    order, loops = _in_order(kernel)
    return Listing(
        kernel.name,
        order,
        loops,
        scratch_bytes=kernel.private_bytes,
        local_bytes=_sum([kernel.local_bytes, *(shared[name] for name in kernel.shared)]),
        notes=notes,
    )
