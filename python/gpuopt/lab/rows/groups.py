"""Rows that may stand beside each other: sections, groups, and what tells rows apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from gpuopt import labels
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.timing import statistics

PAPER, OURS, PEERS = "the paper's steps", "ours", "peers"
ROUNDED, CALLS = "ours, 16-bit values", "whole calls"
SECTIONS = (PAPER, OURS, ROUNDED, CALLS, PEERS)

# A table, a picture and a ratio are of one such place. Ceilings and launches have a dtype and sizes of their own.
BESIDE = ("device", "driver", "problem", "footprint_bytes", "cache_state", "protocol")
PLACE = (*BESIDE, "dtype", "sizes")


@dataclass(frozen=True)
class Group:
    """The summary rows that may stand beside each other: one device, problem, dtype, cache state and protocol.

    ``band`` is the noise of its baseline against itself, as a fraction; 0 where nothing tells it.
    """

    rows: list[Row] = field(repr=False)
    blocks: list[Row] = field(repr=False)
    ceilings: list[Row] = field(repr=False)
    overheads: list[Row] = field(repr=False)
    band: float = 0.0

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def device(self) -> str:
        return str(self.first.get("device") or "")

    @property
    def problem(self) -> str:
        return str(self.first.get("problem") or "")

    @property
    def dtype(self) -> str:
        return str(self.first.get("dtype") or "")

    @property
    def cache_state(self) -> str:
        return str(self.first.get("cache_state") or "")

    @property
    def sizes(self) -> str:
        """`rows=4096 diags=81`."""
        return " ".join(f"{name}={size}" for name, size in (self.first.get("sizes") or {}).items())

    def section(self, name: str) -> list[Row]:
        """The rows of one of `SECTIONS`, in reading order."""
        return [row for row in self.rows if section(row) == name]

    def ceiling_rates(self) -> dict[str, float]:
        """The best rate in GB/s of each ceiling kernel; summaries count more than single blocks."""
        here = [c for c in self.ceilings if c.get("gb_s")]
        final = [c for c in here if c.get("kind") == "summary"] or here
        names = dict.fromkeys(str(c["variant"]) for c in final)
        return {name: max(float(c["gb_s"]) for c in final if c["variant"] == name) for name in names}

    @property
    def launch_ms(self) -> float | None:
        """What one launch takes where launches are queued back to back, None where it was not measured."""
        times = [r for r in self.overheads if r.get("median_ms")]
        final = [r for r in times if r.get("kind") == "summary"] or times
        return median(float(r["median_ms"]) for r in final) if final else None

    def label(self, row: Row) -> str:
        """The row's variant; where that is not unique here, its preset or precision, or the levels that tell it from
        the others."""
        twins = [other for other in self.rows if other["variant"] == row["variant"]]
        if len(twins) == 1:
            return str(row["variant"])
        if row.get("preset"):
            return str(row["preset"]).split(":")[-1]
        if (name := precision_of(row)) and [precision_of(other) for other in twins].count(name) == 1:
            return f"{row['variant']} {name}"
        rivals = [other for other in twins if not other.get("preset")]
        own = row.get("params") or {}
        telling = [name for name in own if any((other.get("params") or {}).get(name) != own[name] for other in rivals)]
        text = f"{row['variant']}({', '.join(f'{name}={own[name]}' for name in telling)})"
        return text if telling and len(rivals) > 1 else str(row.get("configuration") or row["variant"])


def uncached_gflop_s(row: Row) -> float | None:
    """The rate that the row's no-cache bound allows, None where none is declared."""
    return row["flops"] / row["uncached_ms"] * 1e-6 if row.get("flops") and row.get("uncached_ms") else None


def counted_unit(rows: Iterable[Row]) -> str | None:
    """The unit that the rates of the rows count, such as `pair`; None where rates are of flops and bytes alone."""
    return next((unit for row in rows for unit in row.get("counted") or {}), None)


def precision_of(row: Row) -> str:
    """The name of the precision that the row's parameters mean; empty for the arrays' own."""
    return labels.of(row.get("workload")).precision_of(row.get("params") or {})


def section_title(name: str, workload: str) -> str:
    """What one of `SECTIONS` is called in tables and pictures of a workload."""
    return labels.of(workload).other_accuracy if name == ROUNDED else name


def section(row: Row) -> str:
    """Which of `SECTIONS` a row belongs to."""
    if row.get("role") in ("peer", "call"):
        return PEERS if row["role"] == "peer" else CALLS
    if row.get("accuracy"):
        return ROUNDED
    return PAPER if str(row.get("preset") or "").startswith("paper:") else OURS


def is_baseline(row: Row, of: Row) -> bool:
    """Whether `row` is what the ratio of `of` was taken against."""
    names = [row.get("configuration"), row.get("preset"), None if row.get("params") else row.get("variant")]
    return bool(of.get("baseline")) and of["baseline"] in names


def is_entry(row: Row) -> bool:
    return row.get("role", "variant") in ("variant", "call", "peer") and row.get("variant") is not None


def row_named(group: Group, name: str) -> Row | None:
    good = [row for row in group.rows if row["status"] == "ok"]
    by = (group.label, lambda row: row.get("configuration"), lambda row: row.get("preset"))
    return next((row for key in by for row in good if key(row) == name), None)


def where(row: Row, keys: Sequence[str] = PLACE) -> Hashable:
    """What rows must share to stand beside each other."""
    facts = (row.get(key) for key in keys)
    return tuple(tuple(sorted(fact.items())) if isinstance(fact, dict) else fact for fact in facts)


def identity(row: Row) -> Hashable:
    """What the last row of replaces the earlier ones in a study."""
    return (where(row), row.get("role"), row.get("configuration") or row.get("variant"))


def is_confirmed(row: Row) -> bool:
    return row.get("kind") == "summary" and (row.get("blocks") or statistics.MIN_BLOCKS) >= statistics.MIN_BLOCKS


def tell_device_types(rows: list[Row]) -> None:
    """Rows of earlier versions do not say it; the row of their environment does."""
    facts = {row.get("env_hash"): row.get("environment") or {} for row in rows if row.get("kind") == "environment"}
    for row in rows:
        if row.get("device_type") is None and row.get("env_hash") in facts:
            row["device_type"] = (facts[row["env_hash"]].get("device") or {}).get("type")


def representative(rows: list[Row]) -> Row:
    """The middle one of the good blocks, else the fastest good search row, else the last failure."""
    blocks = sorted((row for row in rows if row["kind"] == "block" and row.get("status") == "ok"), key=seconds_of)
    return blocks[(len(blocks) - 1) // 2] if blocks else min(rows[::-1], key=seconds_of)


def seconds_of(row: Row) -> float:
    time = row.get("median_ms")
    return float(time) if time is not None and row.get("status") == "ok" else float("inf")
