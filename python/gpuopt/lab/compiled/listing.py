"""One kernel's compiled instructions, and what they add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

from gpuopt._core import Error

Kind = Literal["alu", "fetch", "store", "local", "atomic", "branch", "other"]
"""What an instruction does: arithmetic, moves and comparisons; reads of memory that work-items share; writes to it;
reads and writes of local memory; atomic operations, on any memory; jumps; and the rest (waits, barriers, nothing)."""

Trait = Literal["fma", "double", "special", "matrix", "private", "scalar"]
"""More of an instruction: a multiplication and addition in one; 64-bit floats; a special function (reciprocal, root,
exponential, sine); a product of small matrices; a read or write of private memory, such as a spilled register; done
once for a whole wavefront, not by each work-item."""

MOST_BYTES = 64 * 2**20  # of a listing
MOST_INSTRUCTIONS = 1_000_000


class ListingError(Error):
    """A listing that says nothing, or that cannot be trusted; the message says why."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    text, opcode
        As the listing has it, without address and comment; its first word without predicates, such as ``FFMA`` or
        ``v_fma_f32``.
    kind, traits
        What it does.
    ends_group
        Whether it is the last of a VLIW group.
    bits
        Width of the vector registers that it works on, on a processor whose instructions have several; else 0.
    place
        File and line of the source that it stems from, where the compiler says it.
    """

    text: str
    opcode: str
    kind: Kind
    traits: frozenset[Trait] = frozenset()
    ends_group: bool = False
    bits: int = 0
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """Instructions from the target of a backward jump up to that jump: ``first`` and ``last`` are places in the
    listing, both inside."""

    first: int
    last: int

    def holds(self, other: Loop) -> bool:
        """Whether another loop lies inside this one."""
        return self != other and self.first <= other.first and other.last <= self.last


@dataclass(frozen=True)
class Listing:
    """What one kernel became.

    kernel
        The entry point.
    instructions, loops
        In the order of the listing.
    registers, scalar_registers
        32-bit registers of a work-item (VLIW5: of four such parts each), and those that a whole wavefront shares.
    spill_bytes, scratch_bytes
        Private memory of a work-item for registers that did not fit, and all of its private memory.
    local_bytes
        Local memory of a work-group that the kernel declares itself.
    code_bytes
        Size of the instructions.
    occupancy, occupancy_by
        Wavefronts that a unit can hold at once, and what limits them: "registers", "local memory", "groups" or
        "wavefronts".
    slots
        Instructions that a VLIW group, which issues at once, can hold; None where there are no groups.
    """

    kernel: str
    instructions: Sequence[Instruction]
    loops: Sequence[Loop] = ()
    registers: int | None = None
    scalar_registers: int | None = None
    spill_bytes: int | None = None
    scratch_bytes: int | None = None
    local_bytes: int | None = None
    code_bytes: int | None = None
    occupancy: int | None = None
    occupancy_by: str | None = None
    slots: int | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def innermost(self) -> Loop | None:
        """Of the loops that hold no other, the one that runs most multiplications and additions in one if each loop
        runs ten times, as register allocators guess, and of several such the one that runs most instructions; None
        where there is no loop. The longest loop is often none of interest: one that stores zeros, or copies."""
        around: list[Loop] = []
        depths: dict[Loop, int] = {}
        for loop in sorted(self.loops, key=lambda loop: (loop.first, -loop.last)):
            while around and around[-1].last < loop.last:
                around.pop()
            if around:
                depths.pop(around[-1], None)
            depths[loop] = len(around)
            around.append(loop)

        def weight(loop: Loop) -> tuple[int, int]:
            inside = self.inside(loop)
            fused = sum("fma" in each.traits for each in inside)
            return fused * 10 ** depths[loop], len(inside) * 10 ** depths[loop]

        return max(depths, key=weight, default=None)

    def inside(self, loop: Loop | None) -> Sequence[Instruction]:
        """The instructions of a loop; none of None."""
        return () if loop is None else self.instructions[loop.first : loop.last + 1]


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions by kind and by trait. ``groups`` are VLIW groups; ``widest`` is the width in bits of the widest
    vector registers in use, and ``vectors`` how many instructions work on vector registers."""

    alu: int
    fetch: int
    store: int
    local: int
    atomic: int
    branch: int
    other: int
    fma: int
    double: int
    special: int
    matrix: int
    private: int
    scalar: int
    groups: int
    vectors: int
    widest: int

    @property
    def all(self) -> int:
        """Of every kind."""
        return self.alu + self.fetch + self.store + self.local + self.atomic + self.branch + self.other


class Counted(TypedDict, total=False):
    """The numbers of :class:`Counts` that are of every target, as a row has them."""

    alu: int
    fetch: int
    store: int
    local: int
    atomic: int
    branch: int
    other: int
    fma: int
    double: int
    special: int
    matrix: int
    private: int
    scalar: int


def counts(instructions: Iterable[Instruction]) -> Counts:
    """What these instructions add up to."""
    kinds: Counter[str] = Counter()
    traits: Counter[str] = Counter()
    vectors = widest = groups = 0
    for each in instructions:
        kinds[each.kind] += 1
        traits.update(each.traits)
        vectors += each.bits > 0
        groups += each.ends_group
        widest = max(widest, each.bits)
    named = {name: kinds[name] for name in ("alu", "fetch", "store", "local", "atomic", "branch", "other")}
    more = {name: traits[name] for name in ("fma", "double", "special", "matrix", "private", "scalar")}
    return Counts(**named, **more, groups=groups, vectors=vectors, widest=widest)


def checked(text: str) -> str:
    """The listing, if it is no larger than a listing can be. Raises ListingError."""
    if len(text) > MOST_BYTES:
        raise ListingError(f"the listing has {len(text) / 2**20:.0f} MiB; at most {MOST_BYTES // 2**20} are read")
    return text
