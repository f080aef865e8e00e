"""What an audit finds: facts that were checked, and those that do not follow from the other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gpuopt.lab.rows.audit_rules import TOLERANCE, Fields
from gpuopt.lab.rows.table import printable


class Entry(NamedTuple):
    """A row with the line of its file, which counts from 1; ``whole`` says that the line names no template."""

    line: int
    row: Fields
    whole: bool = True

    @property
    def label(self) -> str:
        """What people call the row."""
        return str(self.row["configuration"] or self.row["variant"] or self.row["kind"])

    @property
    def is_summary(self) -> bool:
        return (self.row["kind"], self.row["status"]) == ("summary", "ok")


@dataclass(frozen=True)
class Discrepancy:
    """A stored value that does not follow. ``line`` 0 means the file as a whole, ``block`` None no block."""

    file: str
    line: int
    row: str
    kind: str
    block: int | None
    field: str
    stored: Any
    recomputed: Any
    rule: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        who = f"{self.row}, {self.kind}" + ("" if self.block is None else f" {self.block}")
        return f"{where}: {who}: {self.field} is {_shown(self.stored)}, not {_shown(self.recomputed)} ({self.rule})"


def _shown(value: Any) -> str:
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass
class Ledger:
    """What was checked in one file. ``findings`` count what follows from the rules and yet should be known;
    ``unchecked`` counts what could not be recomputed, each by the reason."""

    file: str
    checked: int = 0
    discrepancies: list[Discrepancy] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    unchecked: Counter[str] = field(default_factory=Counter)

    def fact(self, entry: Entry, name: str, stored: Any, recomputed: Any, rule: str, holds: bool) -> bool:
        """Counts a fact, and keeps it where it does not hold."""
        self.checked += 1
        if not holds:
            row = entry.row
            kind = str(row["kind"])
            self.discrepancies.append(
                Discrepancy(self.file, entry.line, entry.label, kind, row["block"], name, stored, recomputed, rule)
            )
        return holds

    def same(self, entry: Entry, name: str, recomputed: Any, rule: str, slack: float = 0.0) -> bool:
        """Whether the entry's field is what was recomputed: numbers to 1e-9 and ``slack``, both relative."""
        stored = entry.row.get(name)
        return self.fact(entry, name, stored, recomputed, rule, alike(stored, recomputed, slack))

    def all_same(self, entry: Entry, recomputed: Mapping[str, Any], rule: str, slack: float = 0.0) -> bool:
        """:meth:`same` of several fields."""
        held = [self.same(entry, name, value, rule, slack) for name, value in recomputed.items()]
        return all(held)

    def whole_file(self, name: str, stored: Any, recomputed: Any, rule: str, line: int = 0) -> None:
        """Keeps a discrepancy of a file, or of a line that holds no row."""
        self.checked += 1
        self.discrepancies.append(Discrepancy(self.file, line, "-", "file", None, name, stored, recomputed, rule))


def alike(stored: Any, recomputed: Any, slack: float = 0.0) -> bool:
    """Whether two values are the same, numbers but for what rounding leaves."""
    if isinstance(stored, bool) or isinstance(recomputed, bool):
        return bool(stored == recomputed)
    if isinstance(stored, (int, float)) and isinstance(recomputed, (int, float)):
        return abs(stored - recomputed) <= (TOLERANCE + slack) * max(abs(stored), abs(recomputed))
    if isinstance(stored, Mapping) and isinstance(recomputed, Mapping):
        return stored.keys() == recomputed.keys() and all(alike(stored[k], recomputed[k], slack) for k in stored)
    if isinstance(stored, (list, tuple)) and isinstance(recomputed, (list, tuple)):
        return len(stored) == len(recomputed) and all(map(lambda a, b: alike(a, b, slack), stored, recomputed))
    return bool(stored == recomputed)


@dataclass(frozen=True)
class FileAudit:
    """One file: how many rows it has of which kind, and what its ledger says. ``own`` counts the lines of a file whose
    rows are a script's own, ``claims`` those of a file of claims."""

    path: Path
    kinds: Mapping[str, int]
    ledger: Ledger
    own: int = 0
    claims: int = 0

    @property
    def rows(self) -> int:
        return sum(self.kinds.values())


@dataclass(frozen=True)
class Report:
    """What an audit of several files found; ``ok`` where everything follows."""

    files: Sequence[FileAudit]

    @property
    def discrepancies(self) -> list[Discrepancy]:
        return [each for file in self.files for each in file.ledger.discrepancies]

    @property
    def ok(self) -> bool:
        return not self.discrepancies

    @property
    def checked(self) -> int:
        """How many facts were checked."""
        return sum(file.ledger.checked for file in self.files)

    def to_json(self) -> dict[str, Any]:
        """The report in JSON's own types."""
        return {
            "checked": self.checked,
            "files": [
                {
                    "file": file.ledger.file,
                    "rows": file.rows,
                    "kinds": dict(file.kinds),
                    "own_rows": file.own,
                    "claims": file.claims,
                    "checked": file.ledger.checked,
                    "findings": dict(file.ledger.findings),
                    "unchecked": dict(file.ledger.unchecked),
                    "discrepancies": len(file.ledger.discrepancies),
                }
                for file in self.files
            ],
            "discrepancies": [asdict(each) for each in self.discrepancies],
        }

    def to_text(self) -> str:
        """The table of files, what should be known, what was not checked, and each discrepancy."""
        audited = [file for file in self.files if not (file.own or file.claims)]
        head = ("file", "rows", "blocks", "summaries", "facts", "discrepancies")
        lines = [_table([head, *map(_cells, audited)])] if audited else []
        own = [f"  {file.ledger.file}: {file.own} rows, {file.ledger.checked} facts" for file in self.files if file.own]
        lines += _section(
            "not audited, rows of a script's own (intervals hold their values, medians are medians):", own
        )
        claims = [f"  {file.ledger.file}: {file.claims} claims" for file in self.files if file.claims]
        lines += _section("not audited, claims held against rows (`gpuopt papers` makes them anew):", claims)
        lines += _section("by the rules, and to be known:", _counted(self.files, "findings"))
        lines += _section("not checked:", _counted(self.files, "unchecked"))
        lines += _section("does not follow:", [f"  {each}" for each in self.discrepancies])
        total = len(self.discrepancies)
        lines.append(
            f"{self.checked} facts in {len(self.files)} files, {total} discrepanc{'y' if total == 1 else 'ies'}"
        )
        return printable("\n\n".join(lines))

    def __str__(self) -> str:
        return self.to_text()


def _cells(file: FileAudit) -> tuple[str, ...]:
    kinds, ledger = file.kinds, file.ledger
    numbers = (file.rows, kinds.get("block", 0), kinds.get("summary", 0), ledger.checked, len(ledger.discrepancies))
    return (ledger.file, *map(str, numbers))


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(cells)
        ).rstrip()
        for cells in ([*zip(line, widths, strict=True)] for line in lines)
    )


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["\n".join([title, *lines])] if lines else []


def _counted(files: Iterable[FileAudit], which: str) -> list[str]:
    """Each finding with its count and the files that it is of."""
    found: dict[str, list[tuple[str, int]]] = {}
    for file in files:
        counts: Counter[str] = getattr(file.ledger, which)
        for what, count in counts.items():
            found.setdefault(what, []).append((file.ledger.file, count))
    return [
        f"  {sum(count for _, count in places)} {what}\n"
        + "\n".join(f"      {count:6d} {name}" for name, count in places)
        for what, places in found.items()
    ]
