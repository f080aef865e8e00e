"""What two kernels were compiled to, in a sentence: only what differs and may explain a time."""

from __future__ import annotations

from collections.abc import Mapping

from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import joined

MOST = 2  # differences that are told
LEAST = 1.2  # times as many wavefronts that are worth a word


def about_code(row: Row, reference: Row, other: str) -> str:
    """` Its compiled kernel ...`, about what is held against ``other``; nothing where neither was read, or where they
    do not differ in spills, 64-bit arithmetic, vector width or wavefronts."""
    mine, theirs = row.get("instructions"), reference.get("instructions")
    if not mine or not theirs:
        return ""
    told = [
        *_spills(row.get("spill_bytes"), reference.get("spill_bytes"), other),
        *_private(mine, theirs, other),
        *_doubles(mine, theirs, other),
        *_width(mine, theirs, other),
        *_wavefronts(row, reference, other),
    ]
    return f" Its compiled kernel {joined(told[:MOST])}." if told else ""


def _spills(mine: int | None, theirs: int | None, other: str) -> list[str]:
    if mine is None or theirs is None or mine == theirs:
        return []
    if mine and not theirs:
        return [f"spills {mine} bytes of registers a work-item, that of {other} none"]
    if theirs and not mine:
        return [f"spills no registers, that of {other} {theirs} bytes a work-item"]
    return [f"spills {mine} bytes of registers a work-item, that of {other} {theirs}"]


def _private(mine: Mapping[str, int], theirs: Mapping[str, int], other: str) -> list[str]:
    """Reads and writes of private memory, where one kernel has none of them."""
    now, before = mine.get("private", 0), theirs.get("private", 0)
    if bool(now) == bool(before):
        return []
    if now:
        return [f"reaches private memory in {now} instruction{_s(now)}, that of {other} in none"]
    return [f"reaches no private memory, that of {other} does in {before} instruction{_s(before)}"]


def _doubles(mine: Mapping[str, int], theirs: Mapping[str, int], other: str) -> list[str]:
    now, before = mine.get("double", 0), theirs.get("double", 0)
    if bool(now) == bool(before):
        return []
    if now:
        return [f"has {now} instruction{_s(now)} of 64-bit floats, that of {other} none"]
    return [f"has no instruction of 64-bit floats, that of {other} has {before}"]


def _width(mine: Mapping[str, int], theirs: Mapping[str, int], other: str) -> list[str]:
    now, before = mine.get("widest_bits", 0), theirs.get("widest_bits", 0)
    if not now or not before or now == before:
        return []
    return [f"works on vectors of up to {now} bits, that of {other} of {before}"]


def _wavefronts(row: Row, reference: Row, other: str) -> list[str]:
    now, before = row.get("occupancy"), reference.get("occupancy")
    if not now or not before or max(now, before) < LEAST * min(now, before):
        return []
    limit = row.get("occupancy_by")
    by = f" (by {limit})" if limit and now < before and limit != "wavefronts" else ""
    return [f"lets {now} wavefronts fit{by}, that of {other} {before}"]


def _s(count: int) -> str:
    return "" if count == 1 else "s"
