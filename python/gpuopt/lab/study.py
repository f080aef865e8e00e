"""What a sweep returns: rows, and how a person reads them. Nothing here touches a device."""

from __future__ import annotations

import html
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from gpuopt._core import ParameterError

from . import statistics
from .quoted import paper_rank
from .results import ResultsError, Row, Store, to_pandas
from .table import Sheet

if TYPE_CHECKING:
    import pandas

    from .ratios import Ratio

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
        if (name := _precision(row)) and [_precision(other) for other in twins].count(name) == 1:
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


def _precision(row: Row) -> str:
    """The precision of a matrix product beside the arrays' own, `tf32x3`; with sums that stay in the unit `tf32x3 in
    the unit`; empty for other rows."""
    from gpuopt.precision import FORMS

    params = row.get("params") or {}
    found = (name for name, form in FORMS.items() if form.parameters.items() <= params.items())
    name = next(found, "") if row.get("workload") == "gemm" else ""
    return f"{name} in the unit" if name and params.get("PROMOTE") == 0 else name


def section_title(name: str, workload: str) -> str:
    """What one of `SECTIONS` is called in tables and pictures of a workload."""
    return "ours, other precisions" if name == ROUNDED and workload == "gemm" else name


def section(row: Row) -> str:
    """Which of `SECTIONS` a row belongs to."""
    if row.get("role") in ("peer", "call"):
        return PEERS if row["role"] == "peer" else CALLS
    if row.get("accuracy"):
        return ROUNDED
    return PAPER if str(row.get("preset") or "").startswith("paper:") else OURS


class Study:
    """The rows of a sweep.

    rows: mappings of the row schema. problem_info: what the rows do not say, every key optional: `name`, `workload`,
    `dtype`, `sizes` (mapping), `seed`, `footprint_bytes`, `flops_counted` (a phrase: which entries count as work),
    `band` (the A/A band as a fraction, where there are too few blocks to tell it), `wall_s` and `harness_s` (of the
    whole sweep).
    notes: sentences for the reader, printed under the table. `interrupted` is True where Ctrl-C ended the sweep early.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        problem_info: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.rows: list[Row] = [dict(row) for row in rows]
        _tell_device_types(self.rows)
        self.problem_info: dict[str, Any] = dict(problem_info or {})
        self.notes: list[str] = list(notes)
        self.interrupted = False

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """The study stored at `path` (JSON lines). Raises ResultsError where there is none or it cannot be read."""
        if not Path(path).is_file():
            raise ResultsError(f"path: there is no results file at {path}; lab.sweep and `gpuopt study` write one")
        store = Store(path)
        return cls(store.latest(), notes=[f"passed over: {problem}" for problem in store.problems])

    @classmethod
    def joined(cls, studies: Sequence[Study]) -> Study:
        """One study of the rows of several, each problem's told apart."""
        infos = [study.problem_info for study in studies]
        shared = {key: value for key, value in infos[0].items() if all(info.get(key) == value for info in infos)}
        times = {key: sum(info[key] for info in infos) for key in ("wall_s", "harness_s") if all(map(_has(key), infos))}
        notes = dict.fromkeys(note for study in studies for note in study.notes)
        joined = cls((row for study in studies for row in study.rows), {**shared, **times}, list(notes))
        joined.interrupted = any(study.interrupted for study in studies)
        return joined

    # ------------------------------------------------------------ selection

    @cached_property
    def summary(self) -> list[Row]:
        """One row per configuration, call or peer, in reading order: the paper's ladder, ours, calls, peers.

        A variant whose comparison never finished is represented by its middle block so far, or its best search row.
        """
        return [row for group in self.groups() for row in group.rows]

    @cached_property
    def unconfirmed(self) -> list[Row]:
        """The rows of `summary` whose comparison did not finish: a search or too few blocks stand behind each."""
        return [row for row in self.summary if row.get("status") == "ok" and not _is_confirmed(row)]

    @cached_property
    def points(self) -> list[Row]:
        """The points of a survey, in the order asked; the last row of each stands."""
        last = {row["row_id"]: row for row in self.rows if row.get("kind") == "point"}
        return list(last.values())

    def groups(self) -> list[Group]:
        """The summary rows by what `PLACE` names, in order of appearance."""
        shown: dict[Hashable, Row] = {}
        for row in self.rows:
            if row.get("kind") == "summary" and _is_entry(row):
                shown[identity(row)] = row
        have = {(where(row), row["variant"]) for row in shown.values()}
        unfinished: dict[Hashable, list[Row]] = {}
        for row in self.rows:
            key = (where(row), row.get("variant"))
            if row.get("kind") in ("search", "block") and _is_entry(row) and key not in have:
                unfinished.setdefault(key, []).append(row)
        shown |= {key: _representative(rows) for key, rows in unfinished.items()}
        places = {where(row) for row in shown.values()}
        in_order = dict.fromkeys(where(row) for row in self.rows)
        return [self._group(place, list(shown.values())) for place in in_order if place in places]

    def _group(self, place: Hashable, shown: list[Row]) -> Group:
        blocks = [row for row in self.rows if row.get("kind") == "block" and where(row) == place]
        rows = [row for row in shown if where(row) == place]
        beside = [row for row in self.rows if where(row, BESIDE) == where(rows[0], BESIDE)]
        own = [row["ratio"] for row in blocks if row.get("role") == "variant" and is_baseline(row, row)]
        seen = {id(row): index for index, row in enumerate(rows)}
        rows.sort(key=lambda row: (SECTIONS.index(section(row)), paper_rank(row), seen[id(row)]))
        return Group(
            rows=rows,
            blocks=blocks,
            ceilings=[row for row in beside if row.get("role") == "ceiling"],
            overheads=[row for row in beside if row.get("role") == "overhead"],
            band=statistics.aa_band(own) or float(self.problem_info.get("band") or 0.0),
        )

    def best(self, role: str = "variant", accuracy: str = "") -> Row | None:
        """The fastest correct summary row of `role`, or None where nothing is correct.

        Rows that round their inputs (`accuracy` "HALF=1") count only where `accuracy` names theirs, or is "any".
        """
        rows = [
            row
            for row in self.summary
            if row.get("role", "variant") == role
            and row.get("status") == "ok"
            and accuracy in ("any", row.get("accuracy") or "")
        ]
        return min(rows, key=_seconds, default=None)

    def speedup(self, name: str, reference: str) -> Ratio:
        """How many times faster `name` is than `reference`: variants, configurations, presets, calls or peers.

        Paired over their common blocks. Raises ParameterError for a name without a good row, and where several
        devices, problems, dtypes or cache states have both.
        """
        from .ratios import ratio_between

        pairs = []
        for group in self.groups():
            found = [_named(group, wanted) for wanted in (name, reference)]
            if found[0] is not None and found[1] is not None:
                pairs.append((group, found[0], found[1]))
        if len(pairs) == 1:
            return ratio_between(*pairs[0])
        if pairs:
            raise ParameterError(f"name: {len(pairs)} groups of rows have both; make a Study of one group's rows")
        known = {group.label(row): None for group in self.groups() for row in group.rows if row["status"] == "ok"}
        for argument, wanted in (("name", name), ("reference", reference)):
            if not any(_named(group, wanted) for group in self.groups()):
                raise ParameterError(f"{argument}: no good row is called {wanted!r}; use one of {', '.join(known)}")
        raise ParameterError(f"reference: {reference!r} was never measured beside {name!r}; sweep both together")

    def failures(self) -> list[Row]:
        """Every configuration that is not ok, with its status and reason; the last row of each stands."""
        last: dict[Hashable, Row] = {}
        for row in self.rows:
            if _is_entry(row):
                last[identity(row)] = row
        return [row for row in last.values() if row.get("status") != "ok"]

    def sentences(self) -> list[str]:
        """One sentence a step that says what its numbers show, and no more than they show."""
        from . import explain

        return explain.sentences(self)

    def to_pandas(self, kind: str | None = None) -> pandas.DataFrame:
        """All rows, or those of one kind, as a DataFrame; mappings become columns such as `bytes.dram`."""
        return to_pandas(row for row in self.rows if kind is None or row.get("kind") == kind)

    def save_plots(self, directory: str | Path) -> list[Path]:
        """Writes `ladder.png` into `directory` (made where missing), of several problems `ladder-PROBLEM.png` each;
        returns what was written. Needs matplotlib."""
        from . import plots

        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        names = dict.fromkeys(group.problem for group in self.groups())
        parts = {f"ladder-{name}.png": Study(self.of_problem(name), self.problem_info) for name in names}
        parts = parts if len(parts) > 1 else {"ladder.png": self}
        for name, part in parts.items():
            plots.ladder(part).savefig(target / name, dpi=150)
        return [target / name for name in parts]

    def of_problem(self, name: str) -> list[Row]:
        """The rows of one problem, its ceilings and launches among them."""
        return [row for row in self.rows if row.get("problem") in (name, None)]

    @property
    def harness(self) -> tuple[float, float] | None:
        """(seconds the lab itself took, seconds the sweep took), None where the sweep did not say."""
        spent, wall = self.problem_info.get("harness_s"), self.problem_info.get("wall_s")
        return (float(spent), float(wall)) if spent is not None and wall else None

    # ------------------------------------------------------------ rendering

    def to_text(self, width: int | None = None) -> str:
        """The tables in `width` characters, or in those of the terminal."""
        return "\n\n".join(sheet.text(width) for sheet in self._sheets())

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        tables = "".join(sheet.html() for sheet in self._sheets())
        items = "".join(f"<li>{html.escape(text)}</li>" for text in self.sentences())
        return tables + (f"<details><summary>step by step</summary><ul>{items}</ul></details>" if items else "")

    def _sheets(self) -> list[Sheet]:
        groups = self.groups()
        if self.points and not groups:
            from . import points

            made = [points.sheet(rows) for rows in _by_device(self.points)]
            made[-1].footers += [("note", note) for note in self.notes]
            return made
        if not groups:
            notes = self.notes or ["no configuration has been measured"]
            return [Sheet([], ["an empty study"], footers=[("", note) for note in notes])]
        from . import sheets

        made = [sheets.sheet(self, group) for group in groups]
        made[-1].footers += [("note", note) for note in self.notes]
        if self.harness:
            spent, wall = self.harness
            share = f"{spent:.1f} s of {wall:.1f} s ({100 * spent / wall:.1f} %)"
            made[-1].footers.append(("harness", f"{share}, the rest was builds, transfers, runs and checks"))
        return made


def _has(key: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda info: info.get(key) is not None


def _by_device(rows: list[Row]) -> list[list[Row]]:
    places = dict.fromkeys(where(row, ("device", "driver")) for row in rows)
    return [[row for row in rows if where(row, ("device", "driver")) == place] for place in places]


def is_baseline(row: Row, of: Row) -> bool:
    """Whether `row` is what the ratio of `of` was taken against."""
    names = [row.get("configuration"), row.get("preset"), None if row.get("params") else row.get("variant")]
    return bool(of.get("baseline")) and of["baseline"] in names


def _is_entry(row: Row) -> bool:
    return row.get("role", "variant") in ("variant", "call", "peer") and row.get("variant") is not None


def _named(group: Group, name: str) -> Row | None:
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


def _is_confirmed(row: Row) -> bool:
    return row.get("kind") == "summary" and (row.get("blocks") or statistics.MIN_BLOCKS) >= statistics.MIN_BLOCKS


def _tell_device_types(rows: list[Row]) -> None:
    """Rows of earlier versions do not say it; the row of their environment does."""
    facts = {row.get("env_hash"): row.get("environment") or {} for row in rows if row.get("kind") == "environment"}
    for row in rows:
        if row.get("device_type") is None and row.get("env_hash") in facts:
            row["device_type"] = (facts[row["env_hash"]].get("device") or {}).get("type")


def _representative(rows: list[Row]) -> Row:
    """The middle one of the good blocks, else the fastest good search row, else the last failure."""
    blocks = sorted((row for row in rows if row["kind"] == "block" and row.get("status") == "ok"), key=_seconds)
    return blocks[(len(blocks) - 1) // 2] if blocks else min(rows[::-1], key=_seconds)


def _seconds(row: Row) -> float:
    time = row.get("median_ms")
    return float(time) if time is not None and row.get("status") == "ok" else float("inf")
