"""What a sweep returns: rows, and how a person reads them. Nothing here touches a device."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .results import ResultsError, Row, Store, to_pandas
from .table import ABSENT, Column, Forms, Line, Sheet, byte_count, joined, quantity, shortened, significant, spread

if TYPE_CHECKING:
    import pandas

PAPER, OURS, PEERS = "the paper's steps", "ours", "peers"
SECTIONS = (PAPER, OURS, PEERS)

NAME_WIDTH = 24  # of a name where the columns have to be saved

FLAG_MEANINGS = {
    "unconverged": "the budget ended before the interval was as narrow as the protocol asks",
    "drift": "the device's speed changed between the sentinels of a block",
    "timer_suspect": "event times and wall time disagree by more than 5 %",
    "throttled": "the device lowered its clocks during some samples",
    "autocorrelated": "neighbouring samples depend on each other, so the interval is a block bootstrap",
    "bimodal": "the samples fall into two groups",
    "over_bound": "faster than its bound: the declared work or the ceiling is wrong",
    "suspicious": "beyond what the device's data sheet allows",
    "optimised_away": "no time at all: the compiler removed the work",
}


@dataclass(frozen=True)
class Group:
    """The summary rows that may stand beside each other: one device, problem, dtype and cache state."""

    device: str
    problem: str
    dtype: str
    cache_state: str
    rows: list[Row] = field(repr=False)
    blocks: list[Row] = field(repr=False)
    ceilings: list[Row] = field(repr=False)

    @property
    def first(self) -> Row:
        return self.rows[0]

    def section(self, name: str) -> list[Row]:
        """The rows of one of `SECTIONS`, in reading order."""
        return [row for row in self.rows if section(row) == name]

    def ceiling_rates(self) -> dict[str, float]:
        """The best rate in GB/s of each ceiling kernel at this cache state; summaries count more than single blocks."""
        here = [c for c in self.ceilings if c.get("gb_s") and c.get("cache_state") in (None, self.cache_state)]
        final = [c for c in here if c.get("kind") == "summary"] or here
        names = dict.fromkeys(str(c["variant"]) for c in final)
        return {name: max(float(c["gb_s"]) for c in final if c["variant"] == name) for name in names}

    def label(self, row: Row) -> str:
        """The row's variant, or its whole configuration where the variant alone is not unique here."""
        twins = [other for other in self.rows if other["variant"] == row["variant"]]
        return str(row["variant"] if len(twins) == 1 else row.get("configuration") or row["variant"])


@dataclass(frozen=True)
class PaperFigure:
    """What a paper printed for a preset: its rate, its share of its own bound, and the device's short name."""

    gflop_s: float | None
    pct_bound: float | None
    device: str

    def forms(self) -> Forms:
        """`13.1 (51 %)`, `13.1`."""
        rate = "-" if self.gflop_s is None else f"{self.gflop_s:g}"
        return (rate if self.pct_bound is None else f"{rate} ({self.pct_bound:.0f} %)", rate)


@cache
def _paper_figures(workload: str) -> dict[str, PaperFigure]:
    """The printed figures of a workload by preset, in the order of the paper's ladder."""
    from gpuopt import papers

    return {k: PaperFigure(v["gflop_s"], v["pct_bound"], v["device"]) for k, v in papers.figures(workload).items()}


def paper_figure(row: Row) -> PaperFigure | None:
    """The paper's figure for the row's preset, None for what is not from a paper."""
    return _paper_figures(str(row.get("workload") or "")).get(str(row.get("preset") or ""))


def _paper_rank(row: Row) -> int:
    order = list(_paper_figures(str(row.get("workload") or "")))
    preset = row.get("preset")
    return order.index(preset) if preset in order else len(order)


def section(row: Row) -> str:
    """Which of `SECTIONS` a row belongs to."""
    if row.get("role") == "peer":
        return PEERS
    return PAPER if str(row.get("preset") or "").startswith("paper:") else OURS


class Study:
    """The rows of a sweep.

    rows: mappings of the row schema. problem_info: what the rows do not say, every key optional: `name`, `workload`,
    `dtype`, `sizes` (mapping), `seed`, `footprint_bytes`, `flops_counted` (a phrase: which entries count as work),
    `band` (the device's A/A band as a fraction, 0.01 when absent), `wall_s` and `harness_s` (of the whole sweep).
    notes: sentences for the reader, printed under the table. `interrupted` is True where Ctrl-C ended the sweep early.
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        problem_info: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.rows: list[Row] = [dict(row) for row in rows]
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

    # ------------------------------------------------------------ selection

    @cached_property
    def summary(self) -> list[Row]:
        """One row per configuration or peer, in reading order: the paper's ladder, ours, peers.

        A variant whose comparison never finished is represented by its middle block so far, or its best search row.
        """
        return [row for group in self.groups() for row in group.rows]

    @cached_property
    def unconfirmed(self) -> list[Row]:
        """The rows of `summary` whose comparison did not finish: one block or one search stands behind each."""
        return [row for row in self.summary if row.get("kind") != "summary" and row.get("status") == "ok"]

    def groups(self) -> list[Group]:
        """The summary rows by device, problem, dtype and cache state, in order of appearance."""
        shown: dict[Hashable, Row] = {}
        for row in self.rows:
            if row.get("kind") == "summary" and _is_entry(row):
                shown[_identity(row)] = row
        have = {(_where(row), row["variant"]) for row in shown.values()}
        unfinished: dict[Hashable, list[Row]] = {}
        for row in self.rows:
            key = (_where(row), row.get("variant"))
            if row.get("kind") in ("search", "block") and _is_entry(row) and key not in have:
                unfinished.setdefault(key, []).append(row)
        shown |= {key: _representative(rows) for key, rows in unfinished.items()}
        places = {_where(row) for row in shown.values()}
        in_order = dict.fromkeys(_where(row) for row in self.rows)
        return [self._group(place, list(shown.values())) for place in in_order if place in places]

    def _group(self, place: tuple[str, ...], shown: list[Row]) -> Group:
        here = [row for row in self.rows if _where(row) == place]
        rows = [row for row in shown if _where(row) == place]
        seen = {id(row): index for index, row in enumerate(rows)}
        rows.sort(key=lambda row: (SECTIONS.index(section(row)), _paper_rank(row), seen[id(row)]))
        return Group(
            device=place[0],
            problem=place[1],
            dtype=place[2],
            cache_state=place[3],
            rows=rows,
            blocks=[row for row in here if row.get("kind") == "block"],
            ceilings=[row for row in self.rows if row.get("role") == "ceiling" and row.get("device") == place[0]],
        )

    def best(self, role: str = "variant") -> Row | None:
        """The fastest correct summary row of `role`, or None where nothing is correct."""
        rows = [row for row in self.summary if row.get("role", "variant") == role and row.get("status") == "ok"]
        return min(rows, key=_seconds, default=None)

    def failures(self) -> list[Row]:
        """Every configuration that is not ok, with its status and reason; the last row of each stands."""
        last: dict[Hashable, Row] = {}
        for row in self.rows:
            if _is_entry(row):
                last[_identity(row)] = row
        return [row for row in last.values() if row.get("status") != "ok"]

    def sentences(self) -> list[str]:
        """One sentence a step that says what its numbers show, and no more than they show."""
        from . import explain

        return explain.sentences(self)

    def to_pandas(self, kind: str | None = None) -> pandas.DataFrame:
        """All rows, or those of one kind, as a DataFrame; mappings become columns such as `bytes.dram`."""
        return to_pandas(row for row in self.rows if kind is None or row.get("kind") == kind)

    def save_plots(self, directory: str | Path) -> list[Path]:
        """Writes `ladder.png` into `directory` (made where missing); returns what was written. Needs matplotlib."""
        from . import plots

        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        path = target / "ladder.png"
        plots.ladder(self).savefig(path, dpi=150)
        return [path]

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
        if not groups:
            notes = self.notes or ["no configuration has been measured"]
            return [Sheet([], ["an empty study"], footers=[("", note) for note in notes])]
        sheets = [self._sheet(group) for group in groups]
        sheets[-1].footers += [("note", note) for note in self.notes]
        if self.harness:
            spent, wall = self.harness
            share = f"{spent:.1f} s of {wall:.1f} s ({100 * spent / wall:.1f} %)"
            sheets[-1].footers.append(("harness", f"{share}, the rest was builds, transfers, runs and checks"))
        return sheets

    def _sheet(self, group: Group) -> Sheet:
        against = dict.fromkeys(group.label(row) for row in group.rows if is_baseline(row, row))
        quoted = {figure.device for figure in map(paper_figure, group.rows) if figure is not None}
        titles = {"speedup": f"vs {joined(list(against)) or 'baseline'}", "paper": f"paper, {joined(sorted(quoted))}"}
        sections = [(name, [_line(group, row) for row in group.section(name)]) for name in SECTIONS]
        cells = [cell for _, lines in sections for line in lines for cell in line.cells.items()]
        filled = {key for key, forms in cells if forms != ABSENT}
        columns = [replace(c, title=titles.get(c.key, c.title)) for c in COLUMNS if c.key in filled]
        return Sheet(columns, self._header(group), sections, self._footers(group))

    def _header(self, group: Group) -> list[str]:
        row, info = group.first, self.problem_info
        sizes = row.get("sizes") or info.get("sizes") or {}
        work = row.get("flops") or next((r["flops"] for r in group.rows if r.get("flops")), None)
        counted = info.get("flops_counted")
        footprint = info.get("footprint_bytes")
        date = max((str(r["time_utc"])[:10] for r in group.rows if r.get("time_utc")), default="")
        facts = [
            f"cache state {group.cache_state}" if group.cache_state else "",
            f"protocol {row.get('protocol')}" if row.get("protocol") else "",
            f"{row.get('clock')} clock" if row.get("clock") else "",
            (quantity(work, "flop") + " a run" + (f" ({counted})" if counted else "")) if work else "",
            f"{byte_count(footprint)} of data" if footprint else "",
            f"gpuopt {row.get('gpuopt_version')}" if row.get("gpuopt_version") else "",
            date,
        ]
        measured = joined([f"{name} {significant(rate)} GB/s" for name, rate in group.ceiling_rates().items()])
        return [
            _dotted([row.get("workload"), group.problem, group.dtype, " ".join(f"{k}={v}" for k, v in sizes.items())]),
            _dotted([group.device, f"driver {row['driver']}" if row.get("driver") else "", row.get("platform")]),
            _dotted(facts),
            *([f"ceilings measured in this run: {measured}"] if measured else []),
        ]

    def _footers(self, group: Group) -> list[tuple[str, str]]:
        out = [
            (f"{group.label(row)}: {row['status']}", str(row.get("reason") or "no reason was recorded"))
            for row in group.rows
            if row["status"] != "ok"
        ]
        shown = {_identity(row) for row in group.rows}
        hidden: dict[tuple[str, str], int] = {}
        for row in self.failures():
            if _where(row) == _where(group.first) and _identity(row) not in shown:
                key = (str(row["variant"]), str(row["status"]))
                hidden[key] = hidden.get(key, 0) + 1
        if hidden:
            counts = joined([f"{variant} {count} {status}" for (variant, status), count in hidden.items()])
            out.append(("other configurations that failed in the search", f"{counts} (study.failures() says why)"))
        for flag in dict.fromkeys(flag for row in group.rows for flag in row.get("flags") or []):
            names = [group.label(row) for row in group.rows if flag in (row.get("flags") or [])]
            run = sum(row["status"] == "ok" for row in group.rows)
            told = "every row" if len(names) == run > 2 else joined(names)
            out.append((f"* {flag}", f"{told} ({FLAG_MEANINGS.get(flag, 'no meaning is on record')})"))
        verdicts = {row.get("verdict") for row in group.rows if not is_baseline(row, row)}
        signs = [f"{sign} {text}" for word, (sign, text) in VERDICT_SIGNS.items() if word in verdicts]
        out += [("", "; ".join(signs))] if signs else []
        configured = [row for row in group.rows if row.get("params") and row["status"] == "ok"]
        out += [("configurations", joined([str(row["configuration"]) for row in configured]))] if configured else []
        waiting = [group.label(row) for row in self.unconfirmed if row in group.rows]
        if waiting:
            out.append(("not compared to the end", f"{joined(waiting)} (one search or one block each)"))
        return out


# One character a level, widest layout first: which form of the cell is shown, `-` for none.
COLUMNS = (
    Column("name", "variant", ("",), "01122222222", right=False),
    Column("time", "time", ("ms [95 % CI]", "ms ± CI", "ms"), "00000111122"),
    Column("flops", "rate", ("GFLOP/s",), "00000000000"),
    Column("bytes", "traffic", ("GB/s",), "000000-----"),
    Column("bound", "of bound", ("% [CI]", "% ± CI", "%"), "00011112222"),
    Column("by", "bound by", ("",), "00---------", right=False),
    Column("paper", "the paper", ("GFLOP/s (bound)", "GFLOP/s"), "00000000---"),
    Column("speedup", "speed-up", ("speed-up [95 % CI]", "speed-up ± CI", "speed-up"), "00001111112"),
    Column("status", "status", ("",), "00000000000", right=False),
)

VERDICT_SIGNS = {
    "SAME": ("=", "the same as the baseline within this run's noise"),
    "AMBIGUOUS": ("?", "ambiguous: the interval, or the number of blocks for so many comparisons, does not decide"),
}


def _line(group: Group, row: Row) -> Line:
    label = group.label(row)
    name: Forms = (str(row.get("configuration") or label), label, shortened(label, NAME_WIDTH))
    flags = " *" if row.get("flags") else ""
    cells: dict[str, Forms] = {"name": name, "status": (f"{row['status']}{flags}",)}
    figure = paper_figure(row)
    if figure is not None:
        cells["paper"] = figure.forms()
    if row["status"] != "ok":
        return Line(cells)
    cells["time"] = spread(row.get("median_ms"), row.get("ci_lo_ms"), row.get("ci_hi_ms"), digits=4)
    cells["flops"] = (significant(row.get("gflop_s")),)
    cells["bytes"] = (significant(row.get("gb_s")),)
    cells["bound"] = spread(row.get("pct_bound"), row.get("pct_lo"), row.get("pct_hi"))
    cells["by"] = (str(row.get("bound_by") or "-"),)
    cells["speedup"] = _speedup(row)
    share = row.get("pct_bound")
    return Line(cells, None if share is None else share / 100)


def _speedup(row: Row) -> Forms:
    if is_baseline(row, row):
        return ("baseline",)
    if not row.get("ratio"):
        return ABSENT
    lo, hi = row.get("ratio_lo"), row.get("ratio_hi")
    forms = spread(1 / row["ratio"], 1 / hi if hi else None, 1 / lo if lo else None, "x")
    sign = VERDICT_SIGNS.get(str(row.get("verdict")))
    return tuple(f"{form} {sign[0]}" for form in forms) if sign else forms


def is_baseline(row: Row, of: Row) -> bool:
    """Whether `row` is what the ratio of `of` was taken against."""
    names = [row.get("configuration"), row.get("preset"), None if row.get("params") else row.get("variant")]
    return bool(of.get("baseline")) and of["baseline"] in names


def _dotted(parts: Iterable[object]) -> str:
    return " · ".join(str(part) for part in parts if part)


def _is_entry(row: Row) -> bool:
    return row.get("role", "variant") in ("variant", "peer") and row.get("variant") is not None


def _where(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(key) or "") for key in ("device", "problem", "dtype", "cache_state"))


def _identity(row: Row) -> Hashable:
    return (_where(row), row.get("role"), row.get("configuration") or row.get("variant"), row.get("preset"))


def _representative(rows: list[Row]) -> Row:
    """The middle one of the good blocks, else the fastest good search row, else the last failure."""
    blocks = sorted((row for row in rows if row["kind"] == "block" and row.get("status") == "ok"), key=_seconds)
    return blocks[(len(blocks) - 1) // 2] if blocks else min(rows[::-1], key=_seconds)


def _seconds(row: Row) -> float:
    time = row.get("median_ms")
    return float(time) if time is not None and row.get("status") == "ok" else float("inf")
