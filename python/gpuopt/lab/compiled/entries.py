"""Kernels and what they were compiled to for several targets: rows, and a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

from gpuopt._core import ParameterError
from gpuopt.checked import methods_checked
from gpuopt.lab.compiled.columns import IN_LOOP, Columns, columns
from gpuopt.lab.compiled.listing import Listing
from gpuopt.lab.rows.table import ABSENT, Column, Forms, Line, Sheet, Shown, percent_text, significant

if TYPE_CHECKING:
    import pandas

LIVE = "live"
How = Literal["live", "offline", "re-creation"]
_LISTED = 8  # names in a message


class EntryRow(Columns, total=False):
    """A kernel on a target, and its :class:`gpuopt.lab.compiled.columns.Columns`.

    label, name, entry_point, target, title
        The configuration; what tables call it; its main kernel; the target as it was asked for; the chip.
    how, tool
        "live" is what the device at hand runs, "offline" another compiler's code for a chip that is not here, and a
        "re-creation" that for one whose own compiler is gone; which tools said it, with their versions.
    outputs_per_item, reason
        Elements of the result a work-item; why there are no numbers.
    """

    label: str
    name: str
    entry_point: str | None
    target: str
    title: str
    how: How
    tool: str | None
    outputs_per_item: float | None
    reason: str | None


class Outputs(TypedDict, total=False):
    """Instructions of the innermost loop an element of the result that a work-item makes."""

    alu: float
    fetch: float


@dataclass(frozen=True)
class Entry:
    """One kernel on one target: its listing, or the reason why there is none. See :class:`EntryRow`."""

    label: str
    name: str
    entry_point: str | None
    target: str
    title: str
    how: How
    tool: str | None = None
    listing: Listing | None = None
    outputs_per_item: float | None = None
    reason: str | None = None

    def row(self) -> EntryRow:
        """Everything as one row."""
        row: EntryRow = {
            "label": self.label,
            "name": self.name,
            "entry_point": self.entry_point,
            "target": self.target,
            "title": self.title,
            "how": self.how,
            "tool": self.tool,
            "outputs_per_item": self.outputs_per_item,
            "reason": self.reason,
        }
        if self.listing is not None:
            row |= columns(self.listing)  # type: ignore[typeddict-item]
        return row

    def per_output(self) -> Outputs:
        """Arithmetic and fetches of the innermost loop an element of the result; nothing where that is not known."""
        if self.listing is None or not self.outputs_per_item:
            return {}
        told = columns(self.listing)
        found: Outputs = {}
        if (alu := told["loop_alu"]) is not None:
            found["alu"] = alu / self.outputs_per_item
        if (fetch := told["loop_fetch"]) is not None:
            found["fetch"] = fetch / self.outputs_per_item
        return found


@methods_checked
@dataclass(frozen=True, repr=False)
class Compiled(Shown):
    """Kernels by target, in the order asked for: iterate over it, or take one by label and target."""

    about: str
    entries: Sequence[Entry]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def entry(self, label: str, target: str = LIVE) -> Entry:
        """One of them, by its configuration or by the name that tables have. Raises ParameterError, which lists what
        there is."""
        here = [each for each in self.entries if each.target == target]
        if not here:
            targets = dict.fromkeys(each.target for each in self.entries)
            raise ParameterError(f"target: there is no {target!r}; there are {', '.join(targets)}")
        named = [each for each in here if each.label == label]
        named = named or [each for each in here if label in (each.name, each.label.split("(")[0])]
        if len(named) != 1:
            listed = ", ".join(each.name for each in (named or here)[:_LISTED])
            raise ParameterError(f"label: {label!r} is {'several' if named else 'none'} of these: {listed}")
        return named[0]

    @property
    def rows(self) -> list[EntryRow]:
        """A row each."""
        return [each.row() for each in self.entries]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame."""
        import pandas

        return pandas.DataFrame([dict(row) for row in self.rows])

    def _sheet(self) -> Sheet:
        vliw = any(each.listing is not None and each.listing.slots for each in self.entries)
        shown = [column for column in _COLUMNS if vliw or column.key not in ("groups", "used")]
        sheet = Sheet(shown, header=[self.about])
        for target in dict.fromkeys(each.target for each in self.entries):
            here = [each for each in self.entries if each.target == target]
            name = here[0].title if target == LIVE else f"{target}, {here[0].title}"
            shared = _shared_notes(here)
            told = [here[0].how, *(each.tool for each in here if each.tool)][:2] + shared
            sheet.sections.append((f"{name} ({'; '.join(told)})", [_line(each, shared) for each in here]))
        sheet.footers.append(
            (
                "in the loop",
                "of one pass of the machine code's innermost loop",
            )
        )
        if vliw:
            sheet.footers.append(("groups", "VLIW instructions that issue at once; used is the part of their slots"))
        return sheet


_COLUMNS = [
    Column("name", "kernel", ("",), "000", right=False),
    Column("registers", "registers", ("",), "000"),
    Column("spill", "spilled", ("bytes",), "000"),
    Column("groups", "groups", ("",), "000"),
    Column("used", "used", ("",), "00-"),
    Column("alu", "ALU", ("",), "000"),
    Column("fetch", "fetch", ("",), "000"),
    Column("intensity", "ALU:fetch", ("in the loop",), "00-"),
    Column("loop", "in the loop", ("ALU, fetch, local", "ALU, fetch"), "011"),
    Column("occupancy", "wavefronts", ("", ""), "011"),
]


def _shared_notes(entries: Sequence[Entry]) -> list[str]:
    """What there is to say of all kernels of a target."""
    listings = [each.listing for each in entries if each.listing is not None]
    if not listings:
        return []
    return [note for note in listings[0].notes if all(note in each.notes for each in listings)]


def _line(entry: Entry, shared: Sequence[str]) -> Line:
    if entry.listing is None:
        return Line({"name": (entry.name,)}, below=entry.reason or "")
    told = columns(entry.listing)
    loop = [told["loop_alu"], told["loop_fetch"], told["loop_local"]]
    cells: dict[str, Forms] = {
        "name": (entry.name,),
        "registers": _count(told["registers"]),
        "spill": _count(told["spill_bytes"]),
        "groups": _count(told["groups"]),
        "used": ABSENT if told["utilization"] is None else (percent_text(told["utilization"]),),
        "alu": _count(told["alu"]),
        "fetch": _count(told["fetch"]),
        "intensity": (significant(told["alu_per_fetch"], 2),),
        "loop": (", ".join(map(str, loop)), ", ".join(map(str, loop[:2]))) if loop[0] is not None else ABSENT,
        "occupancy": ABSENT
        if told["occupancy"] is None
        else (_limited(told["occupancy"], told["occupancy_by"]), str(told["occupancy"])),
    }
    return Line(cells, below="; ".join(note for note in entry.listing.notes if note not in shared))


def _limited(wavefronts: int, by: str | None) -> str:
    return f"{wavefronts}, {'the most' if by in ('wavefronts', 'warps') else f'by {by}'}" if by else str(wavefronts)


def _count(number: int | None) -> Forms:
    return ABSENT if number is None else (str(number),)


__all__ = ["IN_LOOP", "LIVE", "Compiled", "Entry", "EntryRow", "How"]
