"""What a kernel's compiled code holds: accesses by memory and width, functions, branches, loop by loop, counted in the
text of LLVM's IR, as PoCL leaves it for one work-item.

The parser knows what PoCL 3.1 writes and raises :class:`Unknown` on anything else: a count that is not sure is none.

Keys of a count:

``load global x float4``
    A load of four floats by one instruction from the kernel's argument ``x``; also ``constant``, ``local``, ``private``
    and ``store``. Arrays of the kernel have their own name. ``vload4`` and ``vstore4`` are such accesses, too.
``image x``
    A pixel read from the image ``x``.
``test salt``
    A branch or a choice whose condition depends on nothing but the argument ``salt``.
``fma float4``, ``fmul float``, ``fdiv float``, ``mul long``, ...
    Arithmetic by type; ``fma`` is also a multiply-add that the compiler may fuse.
``sin``, ``native_rsqrt``, ``barrier``, ...
    Calls of OpenCL's functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

SPACES = {0: "private", 1: "global", 2: "constant", 3: "local"}
SCALARS = {
    "float": "float",
    "double": "double",
    "i8": "char",
    "i16": "short",
    "i32": "int",
    "i64": "long",
    "i1": "bool",
}
TYPE = r"(?:<\d+ x \w+>|\[\d+ x [^]]+\]|\w+)"
NAME = r"[\w.-]+"
VALUE = rf"[%@](?!struct[.]|union[.]){NAME}"  # no type
INSTRUCTION = re.compile(rf"(?:(?P<to>%{NAME}) = )?(?:tail |musttail |notail )?(?P<op>[a-z]\w*)\b(?P<rest>.*)")
CALLED = re.compile(r"(?P<type>[^@]*?)@(?P<name>[\w.]+)\((?P<arguments>.*)\)")
MANGLED = re.compile(r"_Z(\d+)(\w+)")
# They say nothing about memory or work.
SILENT = re.compile(r"llvm\.(dbg|lifetime|assume|experimental\.noalias)|get_|convert_|__translate_sampler")
FMA = re.compile(r"llvm\.(fma|fmuladd)\.|fma$|mad$")
PASSES_ON = ("getelementptr", "bitcast", "addrspacecast", "phi", "select", "freeze")
FREE = {"getelementptr", "bitcast", "addrspacecast", "phi", "br", "ret", "unreachable", "freeze", "alloca", "switch"}
PURE = {"icmp", "fcmp", "and", "or", "xor", "add", "sub", "trunc", "zext", "sext", "freeze", "select"}

Counts = Counter[str]


class Unknown(Exception):
    """The text holds what this parser does not understand."""


@dataclass
class Instruction:
    to: str
    op: str
    rest: str

    @property
    def names(self) -> list[str]:
        """Values that it uses, not the labels."""
        return re.findall(VALUE, re.sub(rf"label %{NAME}|\[ ([^,]+), %{NAME} \]", r"\1", self.rest))


@dataclass
class Kernel:
    """A kernel's blocks, the space of each pointer that it is given, and the loops that contain no other."""

    name: str
    spaces: Mapping[str, str]
    arguments: frozenset[str]
    doubles: bool
    group: str  # its work-group, as 16x16x1
    blocks: dict[str, list[Instruction]] = field(default_factory=dict)
    made: dict[str, Instruction] = field(default_factory=dict)

    def counts(self, blocks: frozenset[str] | None = None) -> Counts:
        """What these blocks hold, or the whole kernel."""
        chosen = self.blocks if blocks is None else blocks
        return sum((self._of(instruction) for block in chosen for instruction in self.blocks[block]), Counts())

    def loop(self, by: str) -> Counts:
        """The counts of the loop that holds the most of what begins with ``by``, of those with no such loop inside."""

        def held(body: frozenset[str]) -> int:
            return sum(count for key, count in self.counts(body).items() if key.startswith(by))

        bodies = [body for body in self.loops().values() if held(body)]
        innermost = [body for body in bodies if not any(other < body for other in bodies)]
        return self.counts(max(innermost, key=held)) if innermost else Counts()

    def loops(self) -> dict[str, frozenset[str]]:
        """The blocks of each loop, by the block that it begins with."""
        after = {block: _successors(body[-1]) for block, body in self.blocks.items()}
        over = _dominators(after)
        before: dict[str, set[str]] = {block: set() for block in after}
        for block, following in after.items():
            for other in following:
                before[other].add(block)
        found: dict[str, set[str]] = {}
        for block, other in _retreating(after):
            if other not in over[block]:
                raise Unknown(f"{self.name}: a loop with two entries, at {other}")
            body, todo = found.setdefault(other, {other}), [block]
            while todo:
                if (at := todo.pop()) not in body:
                    body.add(at)
                    todo += before[at]
        return {head: frozenset(body) for head, body in found.items()}

    def _of(self, instruction: Instruction) -> Counts:
        op, rest = instruction.op, instruction.rest.strip()
        if op == "call":
            return self._of_call(rest)
        if op == "load":
            kind, _, pointer = rest.removeprefix("volatile ").partition(", ptr")
            return Counts([f"load {self._place(pointer)} {self._type(kind)}"])
        if op == "store":
            stored, _, pointer = rest.removeprefix("volatile ").partition(", ptr")
            return Counts([f"store {self._place(pointer)} {self._type(stored)}"])
        tested = self._tested(op, rest)
        if op in FREE or tested:
            return tested
        if op not in KNOWN:
            raise Unknown(f"{self.name}: {op} {rest}")
        return Counts([f"{op} {_type(rest)}"])

    def _of_call(self, rest: str) -> Counts:
        call = CALLED.search(rest)
        if not call:
            raise Unknown(f"{self.name}: call {rest}")
        mangled = MANGLED.fullmatch(call["name"])
        name = mangled[2][: int(mangled[1])].removeprefix("_cl_") if mangled else call["name"]
        if SILENT.match(name):
            return Counts()
        if not mangled and not name.startswith("llvm."):
            raise Unknown(f"{self.name} calls {name}, which is not written out in it")
        arguments = _split(call["arguments"])
        if access := re.fullmatch(r"v(load|store)a?(_half)?(\d*)", name):
            kind = call["type"] if access[1] == "load" else arguments[0]
            return Counts([f"{access[1]} {self._place(arguments[-1])} {self._type(kind)}"])
        if name.startswith("read_image"):
            return Counts([f"image {self._place(arguments[0]).split()[-1]}"])
        if FMA.match(name):
            return Counts([f"fma {self._type(call['type'])}"])
        name = re.sub(r"^llvm\.(\w+)\..*", r"\1", name)
        return Counts([name if call["type"].split()[-1:] == ["void"] else f"{name} {self._type(call['type'])}"])

    def _tested(self, op: str, rest: str) -> Counts:
        """That an argument alone decides where to go on, or which of two values to take."""
        if op not in ("br", "switch", "select") or rest.startswith("label"):
            return Counts()
        condition = re.match(rf"(?:fast )?{TYPE} ({VALUE})", rest)
        decided = self._decided_by(condition[1]) if condition else None
        return Counts([f"test {'+'.join(sorted(decided))}"]) if decided else Counts()

    def _decided_by(self, name: str) -> set[str] | None:
        """The arguments that a value follows from, None where it follows from anything else."""
        if name in self.arguments:
            return {name[1:]}
        made = self.made.get(name)
        if not made or made.op not in PURE:
            return None
        found: set[str] = set()
        for part in made.names:
            if (of_part := self._decided_by(part)) is None:
                return None
            found |= of_part
        return found

    def _type(self, words: str) -> str:
        """Functions get and give two floats as one double (x86's convention), also in kernels that have no doubles."""
        found = _type(words)
        return "float2" if found == "double" and not self.doubles else found

    def _place(self, pointer: str) -> str:
        """Which memory, and the argument or array, that a pointer points into."""
        names = re.findall(VALUE, pointer)
        found: set[str] = set()
        seen: set[str] = set()
        while names:
            if (name := names.pop()) in seen:
                continue
            seen.add(name)
            made = self.made.get(name)
            if name in self.spaces:
                found.add(f"{self.spaces[name]} {name[1:].removeprefix(self.name + '.')}")
            elif made and made.op == "alloca":
                found.add(f"private {re.sub(r'[.0-9]+$|[.]addr$', '', name[1:])}")
            elif made and made.op == "phi":
                names += made.names
            elif made and made.op in PASSES_ON:
                names += made.names[1:] if made.op == "select" else made.names[:1]
            else:
                raise Unknown(f"{self.name}: where does {name} point? {made}")
        if len(found) != 1:
            raise Unknown(f"{self.name}: {pointer} points to {found or 'nothing'}")
        return found.pop()


KNOWN = {*PURE, "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "fadd", "fsub", "fmul", "fdiv", "frem"}
KNOWN |= {"fneg", "fptosi", "fptoui", "sitofp", "uitofp", "fptrunc", "fpext"}
KNOWN |= {"insertelement", "extractelement", "shufflevector", "insertvalue", "extractvalue"}


def kernel(text: str, name: str) -> Kernel:
    """The kernel of this name in the IR of a program. Raises Unknown."""
    found = re.search(rf"^define [^\n@]*@{re.escape(name)}\(([^\n]*){{\n(.*?)^}}$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise Unknown(f"no kernel {name}")
    arguments = [re.findall(VALUE, argument)[-1] for argument in _split(found[1][: _closing(found[1])])]
    listed = re.search(r"!kernel_arg_addr_space !(\d+)", found[1])
    if not listed:
        raise Unknown(f"{name}: the spaces of its arguments are not listed")
    numbers = [int(number) for number in re.findall(r"i32 (\d+)", _line(text, listed[1]))]
    of_names = {argument: SPACES[number] for argument, number in zip(arguments, numbers, strict=True)}
    # Local arrays are variables of the module, with the kernel's name before theirs; other variables are constants.
    for variable, kind in re.findall(rf"^(@{NAME}) = .*?\b(global|constant)\b", text, re.MULTILINE):
        of_names[variable] = "local" if kind == "global" else "constant"
    blocks = _blocks(name, found[2])
    made = {instruction.to: instruction for block in blocks.values() for instruction in block if instruction.to}
    kinds = re.search(r"!kernel_arg_type !(\d+)", found[1])
    doubles = kinds is not None and "double" in _line(text, kinds[1])
    sizes = re.search(r"!reqd_work_group_size !(\d+)", found[1])
    group = "x".join(re.findall(r"i32 (\d+)", _line(text, sizes[1]))) if sizes else "any"
    return Kernel(name, of_names, frozenset(arguments), doubles, group, blocks, made)


def _blocks(name: str, text: str) -> dict[str, list[Instruction]]:
    at, blocks = "entry", {"entry": list[Instruction]()}
    lines = iter(text.splitlines())
    for line in lines:
        words = line.strip()
        if label := re.match(rf"({NAME}):", line):
            at = label[1]
            blocks.setdefault(at, [])
        elif words:
            while words.startswith("switch") and not words.endswith("]"):
                words += " " + next(lines).strip()
            read = INSTRUCTION.fullmatch(words)
            if not read:
                raise Unknown(f"{name}: {words}")
            blocks[at].append(Instruction(read["to"] or "", read["op"], read["rest"]))
    return blocks


def _line(text: str, number: str) -> str:
    """A line of metadata."""
    found = re.search(rf"^!{number} = (.*)$", text, re.MULTILINE)
    if not found:
        raise Unknown(f"no !{number}")
    return found[1]


def _closing(text: str) -> int:
    """Where the bracket closes that was open before the text."""
    depth = 1
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return place
    raise Unknown(text)


def _type(words: str) -> str:
    """OpenCL's name of the type that an operand begins with, or a function's type ends with."""
    found = re.search(r"<(\d+) x (\w+)>|\b(float|double|i8|i16|i32|i64|i1|ptr)\b", words)
    if not found:
        raise Unknown(f"which type is {words!r}?")
    return SCALARS[found[2]] + found[1] if found[1] else SCALARS.get(found[3], found[3])


def _split(arguments: str) -> list[str]:
    """A list at its commas, but for those within brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _successors(last: Instruction) -> list[str]:
    if last.op in ("br", "switch"):
        return re.findall(rf"label %({NAME})", last.rest)
    if last.op in ("ret", "unreachable"):
        return []
    raise Unknown(f"a block ends with {last.op}")


def _retreating(after: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """Edges back to a block that is still open in a walk from the entry, depth first."""
    edges: list[tuple[str, str]] = []
    open_now, done = {"entry"}, set[str]()
    path = [("entry", iter(after["entry"]))]
    while path:
        block, rest = path[-1]
        following = next(rest, None)
        if following is None:
            path.pop()
            open_now.discard(block)
            done.add(block)
        elif following in open_now:
            edges.append((block, following))
        elif following not in done:
            open_now.add(following)
            path.append((following, iter(after[following])))
    return edges


def _dominators(after: Mapping[str, list[str]]) -> dict[str, set[str]]:
    """The blocks that every way from the entry to a block passes."""
    before: dict[str, set[str]] = {block: set() for block in after}
    for block, following in after.items():
        for other in following:
            before[other].add(block)
    over = {block: set(after) for block in after}
    over["entry"] = {"entry"}
    changed = True
    while changed:
        changed = False
        for block in after.keys() - {"entry"}:
            ways = [over[other] for other in before[block]]
            now = {block} | set.intersection(*ways) if ways else {block}
            changed |= now != over[block]
            over[block] = now
    return over
