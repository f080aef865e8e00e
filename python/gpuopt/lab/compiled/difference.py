"""Two kernels side by side: their instructions by opcode, and the text of their innermost loops (`lab.isa_diff`)."""

from __future__ import annotations

import difflib
import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.compiled.columns import Columns, columns
from gpuopt.lab.compiled.entries import Entry
from gpuopt.lab.compiled.listing import Instruction, Listing
from gpuopt.lab.rows.table import printable, shortened, terminal_width

OPCODES = 24  # shown, by how much they differ
LOOP_LINES = 200  # of a loop that are shown
_FACTS: tuple[tuple[str, str], ...] = (
    *(("registers", "registers"), ("spill_bytes", "bytes spilled"), ("scratch_bytes", "private bytes")),
    *(("local_bytes", "local bytes"), ("occupancy", "wavefronts"), ("groups", "VLIW groups")),
    *(("alu", "ALU"), ("fma", "of them fused"), ("double", "of them 64-bit"), ("special", "of them special")),
    *(("fetch", "fetches"), ("store", "stores"), ("local", "local memory"), ("atomic", "atomic"), ("branch", "jumps")),
    *(("loop_alu", "ALU in the loop"), ("loop_fetch", "fetches in the loop")),
)


@dataclass(frozen=True)
class Difference:
    """Two kernels of one target. ``opcodes`` are counts of each opcode in both, those that differ most first;
    ``loops`` the instructions of the innermost loops."""

    one: Entry
    other: Entry
    facts: Sequence[tuple[str, int | None, int | None]]
    opcodes: Sequence[tuple[str, int, int]]
    loops: tuple[Sequence[Instruction], Sequence[Instruction]]

    def __repr__(self) -> str:
        width = terminal_width()
        out = [
            printable(f"{self.one.name} and {self.other.name} on {self.one.title} ({self.one.how}; {self.one.tool})")
        ]
        names = [self.one.name, self.other.name]
        out += ["", *_counted(names, [(name, _text(a), _text(b)) for name, a, b in self.facts], width)]
        told = [(opcode, str(a), str(b)) for opcode, a, b in self.opcodes[:OPCODES]]
        out += ["", *_counted(names, told, width)]
        left = len(self.opcodes) - OPCODES
        out += [f"and {left} opcodes that differ less"] if left > 0 else []
        out += ["", "innermost loops:", *self._side_by_side(width)]
        return "\n".join(out)

    def _side_by_side(self, width: int) -> list[str]:
        half = (width - 3) // 2
        out = []
        for mark, left, right in _aligned(*self.loops):
            out.append(f"{shortened(left, half).ljust(half)} {mark} {shortened(right, half)}".rstrip())
        return out

    def _repr_html_(self) -> str:
        names = [html.escape(printable(each.name)) for each in (self.one, self.other)]
        heading = f"<tr><th></th><th>{names[0]}</th><th>{names[1]}</th></tr>"
        facts = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{_text(a)}</td><td>{_text(b)}</td></tr>" for name, a, b in self.facts
        )
        opcodes = "".join(
            f"<tr><td><code>{html.escape(printable(opcode))}</code></td><td>{a}</td><td>{b}</td></tr>"
            for opcode, a, b in self.opcodes[:OPCODES]
        )
        lines = "".join(
            f'<tr class="gpuopt-{_CLASSES[mark]}"><td><code>{html.escape(printable(left))}</code></td>'
            f"<td><code>{html.escape(printable(right))}</code></td></tr>"
            for mark, left, right in _aligned(*self.loops)
        )
        where = html.escape(printable(f"{self.one.title} ({self.one.how}; {self.one.tool})"))
        return (
            f'<div class="gpuopt-diff"><style>{_CSS}</style><p>{where}</p>'
            f"<table>{heading}{facts}</table><table>{heading}{opcodes}</table>"
            f"<table><tr><th>innermost loop of {names[0]}</th><th>of {names[1]}</th></tr>{lines}</table></div>"
        )


_CLASSES = {" ": "same", "|": "changed", "<": "left", ">": "right"}
_CSS = (
    ".gpuopt-diff table{display:inline-table;vertical-align:top;margin:.4em 1.2em .4em 0;border-collapse:collapse}"
    ".gpuopt-diff td,.gpuopt-diff th{padding:.05em .6em;text-align:left;color:inherit;border:none}"
    ".gpuopt-diff th{border-bottom:1px solid rgba(128,128,128,.6)}"
    ".gpuopt-diff .gpuopt-changed,.gpuopt-diff .gpuopt-left,.gpuopt-diff .gpuopt-right"
    "{background:rgba(220,160,40,.18)!important}"
)


@checked
def isa_diff(one: Entry, other: Entry) -> Difference:
    """Return two kernels side by side: two entries of what :func:`gpuopt.lab.isa` returns, of one target.

    Raises ParameterError where they are of two targets, or one has no listing; it says why.

    Examples
    --------
    >>> found = lab.isa(problems.gemm(256), ["naive", "vectorized"], targets="gfx90a")  # doctest: +SKIP
    >>> lab.isa_diff(*found)  # doctest: +SKIP

    Of two listings that are made up:

    >>> from gpuopt.lab.compiled.entries import Entry
    >>> from gpuopt.lab.compiled.listing import Instruction, Listing
    >>> add, fma = (Instruction(f"{word} v0, v1", word, "alu") for word in ("v_add", "v_fma"))
    >>> one, other = (Entry(name, name, name, "gfx90a", "MI210", "offline", listing=Listing(name, code))
    ...               for name, code in (("two_adds", [add, add]), ("one_fma", [fma])))
    >>> lab.isa_diff(one, other).opcodes
    [('v_add', 2, 0), ('v_fma', 0, 1)]
    """
    listings: list[Listing] = []
    for argument, entry in (("one", one), ("other", other)):
        if entry.listing is None:
            raise ParameterError(f"{argument}: {entry.name} has no listing for {entry.target}: {entry.reason}")
        listings.append(entry.listing)
    if (one.target, one.title) != (other.target, other.title):
        raise ParameterError(
            f"other: it is of {other.target}, the first of {one.target}: instructions of two targets are not "
            "comparable; give two of one"
        )
    told: list[Columns] = [columns(listing) for listing in listings]
    facts: list[tuple[str, Any, Any]] = [(words, told[0].get(name), told[1].get(name)) for name, words in _FACTS]
    counts = [Counter(each.opcode for each in listing.instructions) for listing in listings]
    opcodes = [(opcode, counts[0][opcode], counts[1][opcode]) for opcode in sorted({*counts[0], *counts[1]})]
    opcodes = [each for each in opcodes if each[1] != each[2]]
    opcodes.sort(key=lambda each: -abs(each[1] - each[2]))
    inside = [listing.inside(listing.innermost) for listing in listings]
    return Difference(one, other, [each for each in facts if each[1] or each[2]], opcodes, (inside[0], inside[1]))


def _text(number: int | None) -> str:
    return "-" if number is None else str(number)


def _counted(names: Sequence[str], lines: Sequence[tuple[str, str, str]], width: int) -> list[str]:
    """A table of three columns."""
    first = max((len(name) for name, _, _ in lines), default=0)
    sides = [shortened(printable(name), max(8, (width - first - 4) // 2)) for name in names]
    widths = [max(len(side), *(len(line[at]) for line in lines), 1) for at, side in zip((1, 2), sides, strict=True)]
    out = [f"{'':{first}}  {sides[0]:>{widths[0]}}  {sides[1]:>{widths[1]}}"]
    out += [f"{name:{first}}  {a:>{widths[0]}}  {b:>{widths[1]}}" for name, a, b in lines]
    return out


def _aligned(one: Sequence[Instruction], other: Sequence[Instruction]) -> list[tuple[str, str, str]]:
    """Both loops, equal opcodes beside each other; where the source's line changes, a line that names it."""
    sides = [_lines(one), _lines(other)]
    keys = [[text.split()[0] if text else "" for text in side] for side in sides]
    out: list[tuple[str, str, str]] = []
    matcher = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for what, a0, a1, b0, b1 in matcher.get_opcodes():
        for at in range(max(a1 - a0, b1 - b0)):
            left = sides[0][a0 + at] if a0 + at < a1 else ""
            right = sides[1][b0 + at] if b0 + at < b1 else ""
            mark = " " if what == "equal" else "|" if left and right else "<" if left else ">"
            out.append((mark, left, right))
    return out


def _lines(loop: Sequence[Instruction]) -> list[str]:
    out: list[str] = []
    place = None
    for each in loop[:LOOP_LINES]:
        if each.place and each.place != place:
            place = each.place
            out.append(f"; {place}")
        out.append(" ".join(each.text.split()))
    if len(loop) > LOOP_LINES:
        out.append(f"; and {len(loop) - LOOP_LINES} more")
    return out or ["; no loop"]
