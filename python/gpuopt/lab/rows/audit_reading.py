"""The lines of a results file for an audit: every row with its line, replaced rows of raw files included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpuopt.lab.rows.audit_facts import Entry
from gpuopt.lab.rows.schema import GROUPS, ResultsError
from gpuopt.lab.rows.store import check_encoding, json_of, no_templates, row_of
from gpuopt.lab.rows.templates import Templates
from gpuopt.signals import let_through

_IDENTITY = frozenset(GROUPS["identity"])
_CLAIM = frozenset(("paper", "id", "says", "verdict"))  # of a line of claims.jsonl, beside its kind


@dataclass
class Lines:
    """What a file holds: rows; objects that are no rows; claims held against rows; what could not be read, by line."""

    entries: list[Entry] = field(default_factory=list)
    others: list[tuple[int, Mapping[str, Any]]] = field(default_factory=list)
    claims: list[int] = field(default_factory=list)
    damage: list[tuple[int, str]] = field(default_factory=list)
    compact: bool = False

    @property
    def is_own(self) -> bool:
        """Whether the file holds a script's own rows and none of ours."""
        return bool(self.others) and not self.entries and not self.claims and not self.damage

    @property
    def is_claims(self) -> bool:
        """Whether the file holds what `gpuopt papers` writes, and no rows."""
        return bool(self.claims) and not self.entries


def read(path: Path) -> Lines:
    """All lines of a file. Raises ResultsError where it cannot be read, is not UTF-8, or a newer gpuopt wrote it."""
    found, known = Lines(), no_templates()
    try:
        data = path.read_bytes()
    except OSError as error:
        let_through(error)
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    check_encoding(data[:8], path)
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            said = json_of(line)
        except ValueError as error:
            found.damage.append((number, str(error)))
            continue
        _take(found, number, said, path, known)
    return found


def read_objects(objects: Iterable[Any], path: Path) -> Lines:
    """The same of what JSON's parser has read, as the rows of a profile."""
    found, known = Lines(), no_templates()
    for number, said in enumerate(objects, 1):
        _take(found, number, said, path, known)
    return found


def _take(found: Lines, number: int, said: Any, path: Path, known: Templates) -> None:
    if isinstance(said, dict) and not said.keys() & {"schema", "like", "shared"}:
        found.others.append((number, said))
        return
    if isinstance(said, dict) and said.get("kind") == "claim" and said.keys() >= _CLAIM:
        found.claims.append(number)
        return
    try:
        row = row_of(said, path, known)
    except ValueError as error:
        found.damage.append((number, str(error)))
        return
    if row is None:
        found.compact = True
        return
    whole = "like" not in said or not _IDENTITY.isdisjoint(said)
    found.entries.append(Entry(number, {**row}, whole))
