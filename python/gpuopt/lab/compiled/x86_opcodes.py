"""What single instructions of x86-64 do, from their text in Intel's syntax."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from gpuopt.lab.compiled.listing import Instruction, Kind, Trait

_PREFIXES = {"lock", "rep", "repe", "repz", "repne", "repnz", "notrack", "bnd", "data16", "addr32", "xacquire"}
_PREFIXES |= {"xrelease", "cs", "ds", "es", "fs", "gs", "ss", "{evex}", "{vex}", "{vex3}"}
_NOTHING = ("nop", "endbr", "int3", "ud2", "pause", "prefetch", "vzero", "mfence", "lfence", "sfence", "hlt", "fnop")
_BRANCH = re.compile(r"j[a-z]+|call|ret[a-z]*|loop[a-z]*|iret[a-z]*|syscall")
_MOVE = re.compile(
    r"v?(?:mov|lddqu|p?broadcast|p?maskmov|p?gather|p?scatter|p?expand|p?compress)"
    r"|kmov|vpmov|pmov[sz]x|lods|stos|fi?ld|fi?st"
)
_FLOAT = re.compile(
    r"v?(?:add|sub|mul|div|sqrt|min|max|round|rndscale|rcp(?:14|28)?|rsqrt(?:14|28)?|cmp[a-z_]*?|u?comi|hadd|hsub"
    r"|addsub|dp|scalef|getexp|getmant|range|reduce|fixupimm|fpclass|f[a-z]+\d{3}|cvt[a-z0-9]*?)[ps]([sdh])x?$"
)
_FROM_DOUBLE = re.compile(r"v?cvtt?[ps]d2")
_FUSED = re.compile(r"vf(?:n?m(?:add|sub)|maddsub|msubadd)")
_SPECIAL = re.compile(r"v?(?:div|sqrt|rcp|rsqrt)[0-9]*[ps][sdh]$")
_CONVERSION = re.compile(r"v?cvtt?(ss|sd|u?si2ss|u?si2sd)")
# Copies of a whole xmm register and zeros in one: compilers write them for a single lane too.
_SERVES_ONE = re.compile(
    r"v?mov[au]p[sd] xmm\d+, ?xmm\d+|v?movdq[au] xmm\d+, ?xmm\d+|v?p?xor(?:p[sd])? .*?(xmm\d+), ?\1"
)
_VECTOR = re.compile(r"\b([xyz])mm\d")
_REGISTER = re.compile(r"\b[a-z][a-z0-9]{1,4}\b")
_READS_FIRST = (
    *("cmp", "test", "bt", "push", "mul", "imul", "div", "idiv", "ldmxcsr", "fld", "fild", "fbld", "fcom", "ficom"),
    *("fadd", "fmul", "fsub", "fdiv", "fiadd", "fimul", "fisub", "fidiv"),
)
_WRITES_FIRST = ("mov", "set", "pop", "fst", "fist", "stos", "stmxcsr")
_BITS = {"x": 128, "y": 256, "z": 512}


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction as it is printed: its prefixes, opcode and operands; ``text`` is all of it."""

    text: str
    prefixes: Collection[str]
    opcode: str
    operands: list[str]

    @property
    def is_branch(self) -> bool:
        """Whether it is a jump, a call or a return."""
        return _BRANCH.fullmatch(self.opcode) is not None

    @property
    def is_nothing(self) -> bool:
        """Whether it computes nothing, as padding does."""
        return self.opcode.startswith(_NOTHING) or self.text in ("xchg ax,ax", "xchg ax, ax")

    @property
    def written(self) -> str:
        """The general register that it writes, by its 64-bit name; "" where it is none."""
        if self.is_branch or self.is_nothing or not self.operands or self.opcode in ("cmp", "test", "push", "bt"):
            return ""
        return whole_register(self.operands[0])


def statement(text: str) -> Statement:
    """The parts of an instruction, whose text is not empty."""
    words = text.split()
    first = next((at for at, word in enumerate(words[:-1]) if not _is_prefix(word)), len(words) - 1)
    operands = " ".join(words[first + 1 :]).split(",") if words[first + 1 :] else []
    return Statement(" ".join(words), set(words[:first]), words[first], [part.strip() for part in operands])


def _is_prefix(word: str) -> bool:
    return word in _PREFIXES or word.startswith("rex")


def whole_register(name: str) -> str:
    """The 64-bit register that one of the general registers is part of: rax of eax, r9 of r9d; "" of anything else."""
    if found := re.fullmatch(r"(r\d{1,2})[dwb]?", name):
        return found[1]
    if found := re.fullmatch(r"[re]?([abcd])(?:x|l|h)", name):
        return f"r{found[1]}x"
    found = re.fullmatch(r"[re]?(si|di|bp|sp)l?", name)
    return f"r{found[1]}" if found else ""


def registers_in(operand: str) -> set[str]:
    """The general registers of an operand's address, by their 64-bit names; ``rip`` if it is relative to the code."""
    inside = operand.partition("[")[2]
    names = _REGISTER.findall(inside)
    return {"rip" if name in ("rip", "eip") else whole_register(name) for name in names} - {""}


def read(said: Statement, frames: Collection[str], constants: Collection[str]) -> list[Instruction]:
    """A statement as the instructions that a processor makes of it.

    Arithmetic may have an operand in memory. It then counts as a fetch with the opcode `load` and an arithmetic
    instruction; where it also writes there, as in `add DWORD PTR [rax],1`, as a store with the opcode `store` too.
    Addresses by ``frames``, the registers that point into the stack, are private memory. Those relative to the code, or
    by one of the registers ``constants``, are literals: no fetch, and reading one alone is arithmetic, as moving a
    literal is.

    ``bits`` are 128, 256 or 512 for xmm, ymm and zmm, as far as all lanes work; arithmetic and moves of one lane, such
    as `vaddss`, have 32 or 64, so that the widest of a loop tells whether it works on vectors. General registers have
    0, and so have copies of an xmm register and zeros in one, which serve a single lane too.
    """
    opcode = said.opcode
    memory = [place for place, operand in enumerate(said.operands) if "[" in operand or " ptr " in operand.lower()]
    traits: set[Trait] = set()
    bits = _bits(said)
    if said.is_branch:
        return [Instruction(said.text, opcode, "branch")]
    if said.is_nothing:
        return [Instruction(said.text, opcode, "other")]
    traits |= {"double"} if _FROM_DOUBLE.match(opcode) else set()
    if (found := _FLOAT.match(opcode)) and bits:
        traits |= {"double"} if found[1] == "d" else set()
        traits |= {"fma"} if _FUSED.match(opcode) else set()
        traits |= {"special"} if _SPECIAL.match(opcode) else set()
    if opcode.startswith("lea") or not memory:
        if opcode in ("push", "pop", "leave"):
            return [Instruction(said.text, opcode, "other", frozenset({"private"}))]
        return [Instruction(said.text, opcode, "alu", frozenset(traits), bits=bits)]
    if "lock" in said.prefixes or opcode == "xchg":
        return [Instruction(said.text, opcode, "atomic")]
    addresses = set().union(*(registers_in(said.operands[place]) for place in memory))
    is_move = _MOVE.match(opcode) is not None
    if addresses & {"rsp", *frames}:
        return [
            Instruction(said.text, opcode, "other" if is_move else "alu", frozenset({*traits, "private"}), bits=bits)
        ]
    if "rip" in addresses or (addresses and addresses <= set(constants)):
        return [Instruction(said.text, opcode, "alu", frozenset(traits), bits=bits)]
    return _parts(said, memory, is_move, frozenset(traits), bits)


def _parts(said: Statement, memory: list[int], is_move: bool, traits: frozenset[Trait], bits: int) -> list[Instruction]:
    """What reads or writes memory that is neither private nor a literal."""
    writes = memory[0] == 0 and not said.opcode.startswith(_READS_FIRST)
    whole = is_move or said.opcode.startswith(_WRITES_FIRST) or _VECTOR.search(said.text) is not None
    reads = memory[-1] > 0 or not (writes and whole)
    if is_move and not (reads and writes):
        kind: Kind = "store" if writes else "fetch"
        return [Instruction(said.text, said.opcode, kind, traits, bits=bits)]
    if writes and whole and not reads:  # such as vextractf128: it costs a store, and chooses a part
        return [Instruction(said.text, said.opcode, "store", traits, bits=bits)]
    parts = [Instruction(said.text, "load", "fetch")] if reads else []
    if not is_move:
        parts.append(Instruction(said.text, said.opcode, "alu", traits, bits=bits))
    return parts + ([Instruction(said.text, "store", "store")] if writes else [])


def _bits(said: Statement) -> int:
    widths = [_BITS[found] for found in _VECTOR.findall(said.text)]
    if not widths:
        return 0
    opcode = said.opcode
    if opcode in ("vmovd", "movd"):
        return 32
    if opcode in ("vmovq", "movq"):
        return 64
    if max(widths) == 128 and _SERVES_ONE.fullmatch(said.text):
        return 0
    if conversion := _CONVERSION.match(opcode):
        return 64 if conversion[1].endswith("sd") else 32
    if opcode.startswith(("p", "vp", "vbroadcast")) or not opcode.endswith(("ss", "sd", "sh")):
        return max(widths)
    return {"s": 32, "d": 64, "h": 16}[opcode[-1]]


def is_float(instruction: Instruction) -> bool:
    """Whether it computes with floating-point numbers in vector registers."""
    return instruction.bits > 0 and _FLOAT.match(instruction.opcode) is not None
