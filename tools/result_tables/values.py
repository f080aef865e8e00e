"""Numbers with their intervals, and the stored rows, ceilings and points they are read from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from gpuopt import _core, lab
from gpuopt.configuration import variants
from gpuopt.lab import Study
from gpuopt.lab.rows.ratios import ANOTHER_CLOCK, host_ratio
from gpuopt.lab.rows.table import places_apart

ROOT = Path(__file__).parents[2]
Row = Mapping[str, Any]

DATA = " of the data of "  # in the configuration of a read that is of another configuration's data

_read: dict[str, None] = {}


@contextmanager
def files_read() -> Iterator[dict[str, None]]:
    """The files that the tables made inside read, relative to the repository's root, in the order of first use."""
    _read.clear()
    yield _read


def noted(path: str) -> str:
    """The path; the table that is being made names it as one of its files."""
    _read[path] = None
    return path


@dataclass(frozen=True)
class Value:
    """A number and its 95 % interval, where there is one."""

    mid: float
    lo: float | None = None
    hi: float | None = None

    def __mul__(self, factor: float) -> Value:
        return Value(
            self.mid * factor,
            None if self.lo is None else self.lo * factor,
            None if self.hi is None else self.hi * factor,
        )

    def __truediv__(self, other: Value) -> Value:
        """The quotient of the numbers; of their intervals the widest, which is wider than the truth of paired ones."""
        if self.lo is None or self.hi is None or other.lo is None or other.hi is None:
            return Value(self.mid / other.mid)
        return Value(self.mid / other.mid, self.lo / other.hi, self.hi / other.lo)

    @property
    def bare(self) -> Value:
        return Value(self.mid)

    @property
    def inverse(self) -> Value:
        return Value(1.0) / self if self.lo is None or self.hi is None else Value(1.0, 1.0, 1.0) / self

    def __str__(self) -> str:
        """`0.3312 [0.3312, 0.3313]`: four digits, three where the interval does not support them."""
        return self.text()

    def text(self, digits: int = 4, limits: Sequence[float] = ()) -> str:
        """With some digits more where an end would read as on the other side of one of the ``limits``."""
        if self.lo is None or self.hi is None:
            return significant(self.mid, digits)
        finest = digits - 1 - _magnitude(self.mid)
        width = self.hi - self.lo
        places = finest if width <= 0 else min(finest, max(1 - _magnitude(width), finest - 1))
        places = places_apart((self.lo, self.hi), limits, max(0, places))
        mid, lo, hi = (f"{number:.{places}f}" for number in (self.mid, self.lo, self.hi))
        return f"{mid} [{lo}, {hi}]"


def significant(number: float, digits: int = 4) -> str:
    """The number with so many significant digits, all of those before the point, and never an exponent."""
    return "0" if number == 0 else f"{number:.{max(0, digits - 1 - _magnitude(number))}f}"


def _magnitude(number: float) -> int:
    return math.floor(math.log10(abs(number))) if number else 0


def small(number: float) -> str:
    """`1.6e-6`."""
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


# ---------------------------------------------------------------- a sweep's rows


@cache
def _study(path: str) -> Study:
    return Study.load(ROOT / path)


def sweeps(folder: str) -> list[str]:
    """The files of rows under a folder, relative to the repository's root."""
    found = (*sorted(ROOT.glob(f"{folder}/**/rows.jsonl")), *sorted(ROOT.glob(f"{folder}/**/gem-capsid/*.jsonl")))
    return [str(path.relative_to(ROOT)) for path in found]


class _Read(Study):
    """Rows that no longer change: ``speedup`` asks for the groups each time, which takes half of this tool's time."""

    def groups(self) -> list[Any]:
        return self._groups

    @cached_property
    def _groups(self) -> list[Any]:
        return super().groups()


@cache
def _group(path: str, problem: str) -> tuple[Study, Any]:
    whole = _study(path)
    study = _Read([row for row in whole.rows if str(row.get("problem") or problem).startswith(problem)])
    groups = study.groups()
    if len(groups) != 1:
        names = ", ".join(dict.fromkeys(group.problem for group in whole.groups()))
        raise ValueError(f"{path}: {len(groups)} groups of rows begin with {problem!r}; there are {names}")
    return study, groups[0]


def matches(row: Row, name: str) -> bool:
    """Whether a row has the preset or configuration ``name``, or the variant and levels of `variant(LEVEL=1, ...)`."""
    if name in (row.get("preset"), row.get("configuration"), row.get("variant")):
        return True
    variant, _, levels = name.removesuffix(")").partition("(")
    if variant != row.get("variant") or "=" not in levels:
        return False
    wanted = dict(level.split("=") for level in levels.split(", "))
    own = _standard(str(row.get("workload")), variant) | (row.get("params") or {})
    return all(str(own.get(key)) == level for key, level in wanted.items())


@cache
def _standard(workload: str, variant: str) -> dict[str, int]:
    """The standard levels of a variant: a row of before a parameter was added is at that one's."""
    tables = variants(workload) if workload in _core.workload_names() else []
    return {p.name: p.standard for row in tables if row.name == variant for p in row.parameters}


class AnotherClock(ValueError):
    """Two rows by two clocks, which have no ratio."""


@dataclass(frozen=True)
class Rows:
    """The summary rows of one problem in a file of rows; ``problem`` is its name or the beginning of it."""

    path: str
    problem: str = ""

    @property
    def study(self) -> Study:
        return _group(noted(self.path), self.problem)[0]

    @property
    def group(self) -> Any:
        return _group(noted(self.path), self.problem)[1]

    def row(self, name: str) -> Row:
        """The one row that is called so. Raises ValueError where none or several are."""
        found = [row for row in self.group.rows if matches(row, name)]
        if len(found) != 1:
            known = "\n  ".join(str(row.get("preset") or row["configuration"]) for row in self.group.rows)
            raise ValueError(f"{self.path}: {len(found)} rows are called {name!r}; there are\n  {known}")
        return found[0]

    def ms(self, name: str) -> Value:
        return ms(self.row(name))

    def rate(self, name: str, field: str) -> Value:
        """A rate of the row, ``field`` of ``gflop_s``, ``gb_s``, ``gop_s``, with the interval of its time."""
        return rate(self.row(name), field)

    def bound(self, name: str) -> Value:
        """How much of its bound the row reaches, in %."""
        return bound(self.row(name))

    def speedup(self, name: str, over: str) -> Value:
        """How many times as fast as another row, paired over their blocks; of two clocks by the host's on both sides,
        which holds a kernel's launch and wait. Raises AnotherClock where no block has both by the host's clock."""
        row, reference = self.row(name), self.row(over)
        ratio = self.study.speedup(str(row["configuration"]), str(reference["configuration"]))
        if ratio.across:
            by_host = host_ratio(self.group, row, reference)
            if by_host is None:
                raise AnotherClock(f"{self.path}: {name} and {over} are by two clocks; show their times instead")
            ratio = by_host
        return Value(ratio.mid, ratio.lo, ratio.hi).inverse

    def times_as_fast(self, name: str, over: str) -> Value | str:
        """The same for a cell, which says `another clock` where there is no such ratio."""
        try:
            return self.speedup(name, over)
        except AnotherClock:
            return ANOTHER_CLOCK

    def beside_row(self, name: str) -> Row:
        """The fastest ceiling of this variant, or the `launch`, measured in the blocks of these rows."""
        group = self.group
        named = [r for r in (*group.ceilings, *group.overheads) if name in (r["variant"], r["configuration"])]
        found = [row for row in named if row["configuration"] == name or DATA not in row["configuration"]]
        summaries = [row for row in found if row["kind"] == "summary" and row["status"] == "ok"]
        if not summaries:
            known = ", ".join(dict.fromkeys(str(row["configuration"]) for row in group.ceilings))
            raise ValueError(f"{self.path}: no ceiling is called {name!r}; there are {known}")
        return min(summaries, key=lambda row: row["median_ms"])

    def beside(self, name: str, field: str = "median_ms") -> Value:
        """The time of that ceiling, or its rate."""
        row = self.beside_row(name)
        return ms(row) if field == "median_ms" else rate(row, field)


def ms(row: Row) -> Value:
    return Value(row["median_ms"], row.get("ci_lo_ms"), row.get("ci_hi_ms"))


def rate(row: Row, field: str) -> Value:
    if row.get(field) is None:
        raise ValueError(f"{row['configuration']} has no {field}")
    time = ms(row)
    return Value(row[field]) if time.lo is None else time.inverse * (row[field] * time.mid)


def bound(row: Row) -> Value:
    return Value(row["pct_bound"], row.get("pct_lo"), row.get("pct_hi"))


# ---------------------------------------------------------------- profiles, surveys, lines


@cache
def _profile(path: str) -> dict[str, Any]:
    return asdict(lab.Profile.from_json((ROOT / path).read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Profile:
    """The measured ceilings of a device."""

    path: str

    @property
    def held(self) -> dict[str, Any]:
        return _profile(noted(self.path))

    def ceiling(self, name: str) -> Value:
        """Its rate, in GB/s, G/s, ns or us. Raises KeyError where the profile has none."""
        found = self.held["ceilings"][name]
        return Value(found["rate"], found.get("lo"), found.get("hi"))

    def has(self, name: str) -> bool:
        """Whether it was measured in this profile and kept. What it refused may have an earlier profile's value."""
        return name in self.held["ceilings"] and name not in self.held["refused"]

    def doubted(self, name: str) -> float | None:
        """The rate of a ceiling that was measured and not kept, since its rounds disagreed; else None."""
        told = self.held["refused"].get(name)
        return float(told.partition(" ")[0]) if told else None

    @property
    def levels(self) -> list[dict[str, Any]]:
        """The cache levels that were found, then memory: ``bytes`` (None of memory) and ``rate_gb_s``."""
        return list(self.held["levels"])


@dataclass(frozen=True)
class Points:
    """The points of a survey: a file of rows, or a profile's own."""

    path: str

    @property
    def rows(self) -> Sequence[Row]:
        path = noted(self.path)
        return _profile(path)["rows"] if path.endswith(".json") else _study(path).points

    @property
    def measured(self) -> Sequence[Row]:
        """Summaries and points with a time, and when it was taken."""
        rows = self.rows if self.path.endswith(".json") else (*self.summaries, *self.rows)
        return [row for row in rows if row["status"] == "ok" and row["time_utc"]]

    @property
    def summaries(self) -> Sequence[Row]:
        """Those of the sweeps in a file of rows."""
        return _study(noted(self.path)).summary

    def point(self, name: str, **fields: Any) -> Row:
        """The one point of a configuration, as far as it is named, with these fields, such as ``dtype`` or ``bytes``
        of its sizes. Raises ValueError where none or several are."""
        found = [
            row
            for row in self.rows
            if matches(row, name)
            and all((row.get("sizes") or {}).get(key, row.get(key)) == wanted for key, wanted in fields.items())
        ]
        if len(found) != 1:
            known = "\n  ".join(f"{row['configuration']} {row['dtype']} {row['sizes']}" for row in found)
            raise ValueError(f"{self.path}: {len(found)} points are {name!r} with {fields}\n  {known}")
        return found[0]

    def rate(self, name: str, field: str = "gb_s", **fields: Any) -> Value | str:
        """The point's rate; why there is none, such as `unsupported`, where it has none."""
        point = self.point(name, **fields)
        return rate(point, field) if point["status"] == "ok" else str(point["status"])


@cache
def _lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Lines:
    """JSON lines that a script of its own wrote."""

    path: str

    def all(self, **fields: Any) -> list[dict[str, Any]]:
        return [line for line in _lines(noted(self.path)) if all(line.get(key) == fields[key] for key in fields)]

    def line(self, **fields: Any) -> dict[str, Any]:
        """The one line with these fields. Raises ValueError where none or several have them."""
        found = self.all(**fields)
        if len(found) != 1:
            raise ValueError(f"{self.path}: {len(found)} lines have {fields}")
        return found[0]

    def value(self, field: str, **fields: Any) -> Value:
        """A field of the one line, with the line's interval ``ci95`` where the interval is of this field."""
        line = self.line(**fields)
        lo, hi = line.get("ci95") or (None, None)
        held = lo is not None and lo <= line[field] <= hi
        return Value(line[field], lo, hi) if held else Value(line[field])
