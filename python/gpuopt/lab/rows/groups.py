"""Which rows can be compared with each other (groups), in which part of a table they stand (sections), and what tells
rows apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from gpuopt import labels
from gpuopt.lab.rows.names import names_of
from gpuopt.lab.rows.schema import Row, field, levels, number_of, time_ms
from gpuopt.lab.rows.visits import passes_of
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.fields import Flag

PAPER, OURS, PEERS = "the paper's steps", "ours", "peers"
ROUNDED, CALLS = "ours, 16-bit values", "whole calls"
SECTIONS = (PAPER, OURS, ROUNDED, CALLS, PEERS)

# Rows that agree in these fields can be compared: they share a table, a picture, a ratio. Ceilings and launches have a
# dtype, sizes and workload of their own, so they agree with the others in the fields of BESIDE alone.
BESIDE = ("device", "unit", "driver", "problem", "data", "footprint_bytes", "cache_state", "protocol")
PLACE = (*BESIDE, "workload", "dtype", "sizes")


# What a row's key says of the code: hashes of a kernel's text and of its plan, build options, sizes of launches.
Code = tuple[Hashable, ...]


@dataclass(frozen=True)
class Group:
    """The summary rows that can be compared: of one device, problem, dtype, cache state and protocol.

    ``band`` is the noise of the baseline against its clone (of earlier versions' rows: against itself), as
    ``statistics.band_ends`` takes it; 0 where it was not measured.
    """

    rows: list[Row] = dataclasses.field(repr=False)
    blocks: list[Row] = dataclasses.field(repr=False)
    ceilings: list[Row] = dataclasses.field(repr=False)
    overheads: list[Row] = dataclasses.field(repr=False)
    band: float = 0.0

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def device(self) -> str:
        return str(self.first["device"] or "")

    @property
    def problem(self) -> str:
        return str(self.first["problem"] or "")

    @property
    def dtype(self) -> str:
        return str(self.first["dtype"] or "")

    @property
    def cache_state(self) -> str:
        return str(self.first["cache_state"] or "")

    @property
    def sizes(self) -> str:
        """`rows=4096 diags=81`."""
        return " ".join(f"{name}={size}" for name, size in (self.first["sizes"] or {}).items())

    def section(self, name: str) -> list[Row]:
        """The rows of one of `SECTIONS`, in reading order."""
        return [row for row in self.rows if section(row) == name]

    def ceiling_rates(self) -> dict[str, float]:
        """The best rate in GB/s of each ceiling kernel; summaries count more than single blocks."""
        here = [row for row in self.ceilings if row["gb_s"]]
        rates: dict[str, float] = {}
        for row in [row for row in here if row["kind"] == "summary"] or here:
            name = str(row["variant"])
            rates[name] = max(number_of(row, "gb_s"), rates.get(name, 0.0))
        return rates

    @property
    def launch_ms(self) -> float | None:
        """What one launch takes where launches are queued back to back, None where it was not measured."""
        times = [r for r in self.overheads if r["median_ms"]]
        final = [r for r in times if r["kind"] == "summary"] or times
        return median(map(time_ms, final)) if final else None

    def with_rows(self, rows: list[Row]) -> Group:
        """The group with these of its rows alone, which keep the names that they have beside the others."""
        part = dataclasses.replace(self, rows=rows)
        vars(part)["_names"] = self._names
        return part

    @cached_property
    def _names(self) -> dict[int, str]:
        return {id(row): name for row, name in zip(self.rows, names_of(self.rows), strict=True)}

    def label(self, row: Row) -> str:
        """What people call the row: a step of a paper by its name, any other by its variant, with the precision or the
        levels that tell it from its twins."""
        name = self._names.get(id(row)) or str(row["configuration"] or row["variant"])
        return name if name.strip() else repr(name)

    @cached_property
    def blocks_of(self) -> dict[tuple[str, str], list[Row]]:
        """The good blocks by role and configuration."""
        found: dict[tuple[str, str], list[Row]] = {}
        for block in self.blocks:
            if block["status"] == "ok" and block["block"] is not None:
                found.setdefault((block["role"] or "variant", str(block["configuration"])), []).append(block)
        return found

    @cached_property
    def passes(self) -> dict[int, int | None]:
        """The pass that each block is of, by its row's ``id``: see ``visits.passes_of``."""
        rows = self.blocks
        times = {row["time_utc"] for row in rows}
        if None not in times and len(times) > 1:  # else rows are in the order in which they were written
            rows = sorted(rows, key=lambda row: (row["time_utc"] or "", row["block"] or 0, row["order"] or 0))
        return {id(row): number for row, number in zip(rows, passes_of(rows), strict=True)}

    @cached_property
    def _of_baselines(self) -> list[Row]:
        return [row for row in self.blocks if row["role"] == "sentinel" or is_baseline(row, row)]

    @cached_property
    def _visited(self) -> dict[int | None, Code | None]:
        return {self.passes[id(row)]: code_of(row) for row in self._of_baselines}

    @cached_property
    def _codes_by_name(self) -> dict[str | None, set[Code | None]]:
        found: dict[str | None, set[Code | None]] = {}
        for row in self._of_baselines:
            found.setdefault(row["baseline"], set()).add(code_of(row))
        return found

    def against(self, block: Row) -> Code | None:
        """The code of the baseline that a block was held against: what its pass visited. Where these visits were
        replaced, which takes others of the same code, the only one that there is; None where it is not told."""
        place, codes = self.passes[id(block)], self._codes_by_name.get(block["baseline"], {None})
        if place in self._visited and place is not None:
            return self._visited[place]
        return next(iter(codes)) if len(codes) == 1 else None

    def own_blocks(self, row: Row) -> list[Row]:
        """The good blocks of a row's configuration, of its environment and code; as many as a summary is of, the last:
        none of what an edit has replaced, and none that an earlier, longer run has left."""
        mine = self.blocks_of.get((row["role"] or "variant", str(row["configuration"])), [])
        here = [block for block in mine if row["env_hash"] in (block["env_hash"], None) or is_earlier(row)]
        own = [block for block in here if code_of(block) == code_of(row)]
        if row["kind"] != "summary" or not row["blocks"] or len(own) <= row["blocks"]:
            return own
        return sorted(own, key=lambda block: self.passes[id(block)] or 0)[-row["blocks"] :]

    def of_identical(self, clones: Iterable[Row]) -> list[Row]:
        """The good blocks that held the baseline against its clone, of earlier versions' rows against itself: of
        several runs in one environment those of the last, as far as summaries, ``clones`` or the group's, tell."""
        role = "clone" if any(role == "clone" for role, _ in self.blocks_of) else "variant"
        told = {(row["configuration"], row["env_hash"]): row for row in (clones if role == "clone" else self.rows)}
        runs: dict[tuple[str | None, str | None], list[Row]] = {}
        for (of, _), blocks in self.blocks_of.items():
            for row in blocks if of == role else ():
                runs.setdefault((row["configuration"], row["env_hash"]), []).append(row)
        found = [self.own_blocks(told[at]) if at in told else own for at, own in runs.items()]
        return [row for own in found for row in own if role == "clone" or is_baseline(row, row)]

    @cached_property
    def codes_of_baselines(self) -> dict[int, frozenset[Code]]:
        """By a row's ``id``, the codes of the baseline that its blocks were held against; of the baseline, its own. The
        set is empty where blocks do not tell, and has several where two runs' blocks stand beside each other."""

        def of(row: Row) -> list[Code | None]:
            return [code_of(row)] if is_baseline(row, row) else [self.against(block) for block in self.own_blocks(row)]

        told = {id(row): of(row) for row in self.rows}
        return {row: frozenset(code for code in codes if code is not None) for row, codes in told.items()}

    @property
    def subject(self) -> str:
        """What people call the problem: `grid 321 x 481, radius 5`."""
        sizes = {name: int(size) for name, size in (self.first["sizes"] or {}).items()}
        return labels.of(self.first["workload"]).subject(self.problem, sizes) or _plain_subject(self.problem)


def _plain_subject(problem: str) -> str:
    """The name without the hash at its end, and with spaces: `globule_1500_082dc25e` is `globule 1500`."""
    words = problem.split("_")
    hashed = len(words) > 1 and len(words[-1]) == 8 and set(words[-1]) <= set("0123456789abcdef")
    return " ".join(words[:-1] if hashed else words)


def uncached_gflop_s(row: Row) -> float | None:
    """The rate that the row's no-cache bound allows, None where none is declared."""
    return row["flops"] / row["uncached_ms"] * 1e-6 if row["flops"] and row["uncached_ms"] else None


def share_of_bound(row: Row) -> float | None:
    """Percent of its bound that the row reaches; None without a profile, whose ceilings a bound is made of."""
    return row["pct_bound"] if row["profile"] else None


def flags_of(row: Row) -> list[Flag]:
    """The row's flags. Summaries of earlier versions lack one where the share of the bound is uncertain; without a
    profile no share is told, and nothing stands above it."""
    own: list[Flag] = [flag for flag in row["flags"] if flag != "over_bound"]
    return [*dict.fromkeys(own), "over_bound"] if (share_of_bound(row) or 0) > 100 else list(dict.fromkeys(own))


def counted_unit(rows: Iterable[Row]) -> str | None:
    """The unit that the rates of the rows count, such as `pair`; None where rates are of flops and bytes alone."""
    return next((unit for row in rows for unit in row["counted"] or {}), None)


def precision_of(row: Row) -> str:
    """The name of the precision that the row's parameters mean; empty for the arrays' own."""
    return labels.of(row["workload"]).precision_of(levels(row))


def section_title(name: str, workload: str) -> str:
    """What one of `SECTIONS` is called in tables and pictures of a workload."""
    words = labels.of(workload)
    if name == OURS and words.brought:
        return workload
    return words.other_accuracy if name == ROUNDED else name


def section(row: Row) -> str:
    """Which of `SECTIONS` a row belongs to."""
    if row["role"] in ("peer", "call"):
        return PEERS if row["role"] == "peer" else CALLS
    if row["accuracy"]:
        return ROUNDED
    return PAPER if str(row["preset"] or "").startswith("paper:") else OURS


def is_baseline(row: Row, of: Row) -> bool:
    """Whether `row` is what the ratio of `of` was taken against: a variant, whatever a call or a peer is called."""
    names = [row["configuration"], row["preset"], None if row["params"] else row["variant"]]
    return (row["role"] or "variant") == "variant" and bool(of["baseline"]) and of["baseline"] in names


def is_entry(row: Row) -> bool:
    return (row["role"] or "variant") in ("variant", "call", "peer") and row["variant"] is not None


def is_result(row: Row) -> bool:
    """Whether it tells how a configuration did: how fast, or what failed."""
    return is_entry(row) and row["kind"] != "energy"


def last_of(rows: Iterable[Row]) -> dict[Hashable, Row]:
    """The last row of each configuration, by its identity, in the order in which these rows stand."""
    last: dict[Hashable, Row] = {}
    for row in filter(is_result, rows):
        last.pop(identity(row), None)
        last[identity(row)] = row
    return last


def last_summaries(rows: Iterable[Row]) -> list[Row]:
    """The rows, without summaries that a later one of their configuration has replaced."""
    kept = [*rows]
    last = {identity(row): id(row) for row in kept if row["kind"] == "summary"}
    return [row for row in kept if row["kind"] != "summary" or last[identity(row)] == id(row)]


def with_last(rows: Sequence[Row], last: Mapping[Hashable, Row]) -> list[Row]:
    """The rows, so that the ``last`` one of each configuration (by its identity, one of them) decides: behind all
    others, where that which stands last says something else. The others stay, and with them the order of tables."""
    ends = last_of(rows)
    moved = {id(row) for one, row in last.items() if not _says_the_same(row, ends[one])}
    return [row for row in rows if id(row) not in moved] + [row for row in rows if id(row) in moved]


def _says_the_same(row: Row, other: Row) -> bool:
    return row is other or (row["status"] == other["status"] == "ok" and code_of(row) == code_of(other))


def row_named(group: Group, name: str) -> Row | None:
    good = [row for row in group.rows if row["status"] == "ok"]
    by = (
        group.label,
        lambda row: row["configuration"],
        lambda row: row["preset"],
        lambda row: str(row["preset"]).split(":")[-1],
        lambda row: row["variant"] if [other["variant"] for other in good].count(row["variant"]) == 1 else None,
    )
    return next((row for key in by for row in good if key(row) == name), None)


def where(row: Row, keys: Sequence[str] = PLACE) -> Hashable:
    """The values that rows must have in common to be compared."""
    facts = (field(row, key) for key in keys)
    return tuple(tuple(sorted(fact.items())) if isinstance(fact, dict) else fact for fact in facts)


def identity(row: Row, keys: Sequence[str] = PLACE) -> Hashable:
    """Rows of one identity replace each other in a study: the last one stands."""
    return (where(row, keys), row["role"], row["configuration"] or row["variant"])


def code_of(row: Row) -> Code | None:
    """The code that a row is of, None where it does not say: of a whole call of an earlier version, for one."""
    if row["source_sha256"] is None and row["plan"] is None:
        return None
    sizes = (tuple(row[name] or ()) for name in ("local_size", "global_size"))
    return (row["source_sha256"], row["options"], row["plan"], *sizes)


def is_earlier(row: Row) -> bool:
    """Whether it is a summary of before ``method`` was a field; rows that are none never have it."""
    return row["kind"] == "summary" and row["method"] is None


def is_confirmed(row: Row) -> bool:
    return row["kind"] == "summary" and (row["blocks"] or statistics.MIN_BLOCKS) >= statistics.MIN_BLOCKS


def with_sure_interval(row: Row) -> Row:
    """The row, without the ends of its time's interval where these are the range of too few samples. A summary, which
    is of blocks, has an interval of 95 % or none."""
    if row["kind"] == "summary" or (row["n"] or statistics.MIN_BLOCKS) >= statistics.MIN_BLOCKS:
        return row
    return row | {"ci_lo_ms": None, "ci_hi_ms": None}


def tell_device_types(rows: list[Row]) -> None:
    """Fills in the device type of rows of earlier versions, which is in the row of their environment alone."""
    facts = {row["env_hash"]: row["environment"] for row in rows if row["kind"] == "environment"}
    for row in rows:
        told = facts.get(row["env_hash"])
        device = told.get("device") if told else None
        if row["device_type"] is None and isinstance(device, dict):
            row["device_type"] = device.get("type")


def representative(rows: list[Row]) -> Row:
    """The middle one of the good blocks of the last one's code, else the fastest good search row, else the last
    failure."""
    blocks = [row for row in rows if row["kind"] == "block" and row["status"] == "ok"]
    blocks = sorted((row for row in blocks if code_of(row) == code_of(blocks[-1])), key=seconds_of)
    return blocks[(len(blocks) - 1) // 2] if blocks else min(rows[::-1], key=seconds_of)


def seconds_of(row: Row) -> float:
    time = row["median_ms"]
    return float(time) if time is not None and row["status"] == "ok" else float("inf")
