"""The audit of results files: everything that follows from other rows is computed again."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuopt.lab.rows import audit_rules
from gpuopt.lab.rows.audit_bounds import BoundAudit, KnownProfile, choose_profiles, over_bounds
from gpuopt.lab.rows.audit_comparisons import BlockAudit, collect, rules_alone, rules_of
from gpuopt.lab.rows.audit_facts import FileAudit, Ledger, alike
from gpuopt.lab.rows.audit_reading import Lines, read, read_objects
from gpuopt.lab.rows.audit_rows import RowAudit
from gpuopt.lab.rows.audit_summaries import SummaryAudit, after_timing, environments


def audit_file(path: Path, name: str, profiles: Sequence[KnownProfile] = ()) -> FileAudit:
    """Audits a file of JSON lines; ``name`` is what the report calls it, ``profiles`` are those at hand.

    Rows that a script wrote for itself are not audited but for what their own fields say of each other, claims that
    were held against rows not at all. Raises ResultsError where the file cannot be read.
    """
    lines, ledger = read(path), Ledger(name)
    if lines.is_own:
        for number, row in lines.others:
            _own_row(ledger, number, row)
        return FileAudit(path, {}, ledger, own=len(lines.others))
    _audit_lines(lines, ledger, profiles)
    kinds = Counter(str(entry.row["kind"]) for entry in lines.entries)
    return FileAudit(path, kinds, ledger, claims=len(lines.claims) if lines.is_claims else 0)


def audit_points(objects: Iterable[Any], path: Path, ledger: Ledger) -> Lines:
    """Audits the rows of a survey that stand without their environment, as those of a profile; ``objects`` are what
    JSON's parser has read."""
    lines = read_objects(objects, path)
    _audit_lines(lines, ledger, (), alone=True)
    return lines


def _audit_lines(lines: Lines, ledger: Ledger, profiles: Sequence[KnownProfile], alone: bool = False) -> None:
    try:
        _audit_all(lines, ledger, profiles, alone)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        ledger.whole_file("rows", said, "no error", "rows have what follows from them: a row is damaged")


def _audit_all(lines: Lines, ledger: Ledger, profiles: Sequence[KnownProfile], alone: bool) -> None:
    for number, reason in lines.damage:
        ledger.whole_file("line", reason, "a result row", "every line is a row or a template", number)
    others = [number for number, _ in lines.others] + ([] if lines.is_claims else lines.claims)
    for number in sorted(others):
        ledger.whole_file("line", "another object", "a result row", "every line is a row or a template", number)
    entries = lines.entries
    times = [entry.row["time_utc"] for entry in entries if entry.row["time_utc"]]
    rows = RowAudit(ledger, bool(times) and min(times) < audit_rules.ROUNDED_BEFORE)
    found = collect(entries, lines.compact)
    rules = {id(block): each.rules for each in found.comparisons for block in each.blocks.values()}
    of_visits = {id(entry): rules.get(id(block)) for block in found.blocks for entry in block.visits}
    for entry in entries:
        known = audit_rules.generation(entry.row) is not None
        rule = f"one of {', '.join(audit_rules.RULES)}"
        ledger.fact(entry, "method", entry.row.get("method"), rule, "a generation of rules that is known", known)
        # Rows of a visit do not say: they are of their summary's generation.
        own = rules_of if entry.is_summary else rules_alone
        rows.check(entry, of_visits.get(id(entry)) or own(entry.row))
    for block in found.blocks:
        BlockAudit(ledger, rows, rules.get(id(block)) or rules_alone(block.visits[0].row)).check(block)
    bounds = [BoundAudit(ledger, rows, comparison, profiles) for comparison in found.comparisons]
    choose_profiles(bounds)
    for comparison, bound in zip(found.comparisons, bounds, strict=True):
        SummaryAudit(ledger, rows, comparison).check()
        bound.check()
    if found.unsummarised:
        ledger.findings["visits in blocks that no summary tells of"] += found.unsummarised
    if not alone:
        environments(ledger, entries)
    after_timing(ledger, entries)
    over_bounds(ledger, entries)


def _own_row(ledger: Ledger, number: int, row: Mapping[str, Any]) -> None:
    """What the fields of a script's row say of each other: an interval holds a value of the row, a value whose blocks
    are there is their median, a ratio lies between its least and its greatest. An interval, blocks or ends that are no
    numbers say nothing of the others."""
    interval: Any = row.get("ci95")
    if _are_numbers(interval) and len(interval) == 2:
        values = [value for value in row.values() if isinstance(value, float)]
        holds = any(interval[0] <= value <= interval[1] for value in values)
        _own_fact(ledger, number, "ci95", interval, "around a value of its row", holds)
    for name, value in row.items():
        known = _are_numbers([value])
        kept = row.get(f"blocks_{name}")
        there = [one for one in kept if one is not None] if isinstance(kept, list) else []
        if there and _are_numbers(there):
            made = audit_rules.median(there)
            _own_fact(ledger, number, name, value, made, known and alike(value, made))
        ends = [row.get(f"{name}_least"), row.get(f"{name}_greatest")]
        if _are_numbers(ends):
            _own_fact(ledger, number, name, value, ends, known and ends[0] <= value <= ends[1])


def _are_numbers(values: Any) -> bool:
    """Whether it is a list of numbers that a float64 holds."""
    return isinstance(values, list) and all(
        isinstance(one, int | float) and abs(one) <= sys.float_info.max for one in values
    )


def _own_fact(ledger: Ledger, number: int, name: str, stored: Any, wanted: Any, holds: bool) -> None:
    if holds:
        ledger.checked += 1
    else:
        ledger.whole_file(name, stored, wanted, "within a script's own row", number)
