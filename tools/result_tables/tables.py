"""Tables in Markdown: of rows by columns, of single values, and of aims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpuopt import papers
from gpuopt.configuration import complete

from .values import Lines, Points, Profile, Row, Rows, Value, bound, ms, rate, significant, small

Cell = Value | float | str | None
Line = Sequence[Cell]
Table = Callable[[], str]


def markdown(header: Sequence[str], lines: Sequence[Line], *, words: bool = False) -> str:
    """A table whose first column is text, and of ``words`` all; numbers stand to the right in theirs."""
    if wrong := [line for line in lines if len(line) != len(header)]:
        raise ValueError(f"a line has {len(wrong[0])} cells where the header has {len(header)}: {wrong[0]}")
    ruler = ["---", *["---" if words else "---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ruler, *(map(_cell, line) for line in lines)])


def _cell(cell: Cell) -> str:
    return "" if cell is None else significant(cell) if isinstance(cell, float) else str(cell)


def grid(header: Sequence[str], lines: Callable[[], Sequence[Line]]) -> Table:
    """A table of single values."""
    return lambda: markdown(header, lines())


def tried(lines: Callable[[], Sequence[tuple[str, str, str]]]) -> Table:
    """What did not help: the hypothesis, what was measured, and where its rows are."""
    return lambda: markdown(["hypothesis", "measured", "rows"], lines(), words=True)


def findings(points: Callable[[], Sequence[str]]) -> Table:
    """Sentences that have the rows' numbers in them, a point each."""
    return lambda: "\n".join(f"- {point}" for point in points())


def between(values: Sequence[float], form: str = ".2f") -> str:
    """The least and the greatest of some numbers, `1.46 to 1.72`; one where they read alike."""
    least, most = (f"{end(values):{form}}" for end in (min, max))
    return least if least == most else f"{least} to {most}"


# ---------------------------------------------------------------- rows by columns


@dataclass(frozen=True)
class Column:
    """A heading, and what a row shows under it."""

    heading: str
    cell: Callable[[Rows, Row], Cell]


def of_field(heading: str, field: str, factor: float = 1.0, digits: int = 4) -> Column:
    """A number of the row as it is, empty where the row has none."""

    def cell(rows: Rows, row: Row) -> Cell:
        return None if row.get(field) is None else significant(float(row[field]) * factor, digits)

    return Column(heading, cell)


def time(heading: str = "ms [95 % CI]", factor: float = 1.0) -> Column:
    return Column(heading, lambda rows, row: ms(row) * factor if row["status"] == "ok" else str(row["status"]))


def faster(heading: str, than: str) -> Column:
    """How many times as fast as the row called ``than``."""

    def cell(rows: Rows, row: Row) -> Cell:
        if row["status"] != "ok":
            return None
        return "1" if row is rows.row(than) else rows.times_as_fast(str(row["configuration"]), than)

    return Column(heading, cell)


def behind(heading: str, first: str) -> Column:
    """How many times as fast as the row ``first`` is."""

    def cell(rows: Rows, row: Row) -> Cell:
        return "1" if row is rows.row(first) else rows.times_as_fast(first, str(row["configuration"]))

    return Column(heading, cell)


def error(heading: str, field: str) -> Column:
    return Column(heading, lambda rows, row: None if row.get(field) is None else small(row[field]))


def printed(heading: str) -> Column:
    """What the paper printed for the row's preset: `13.1 of 25.6 (51 %)`, or a speed-up, `1.3 to 1.45`."""

    def cell(rows: Rows, row: Row) -> Cell:
        figure = papers.figures(str(row["workload"])).get(str(row.get("preset") or ""), {})
        if not figure.get("gflop_s"):
            return paper_gain(str(row["workload"]), str(row.get("preset") or ""))
        bound_of = f" of {figure['bound_gflop_s']:g}" if figure["bound_gflop_s"] else ""
        share = f" ({figure['pct_bound']:.0f} %)" if figure["pct_bound"] else ""
        return f"{figure['gflop_s']:g}{bound_of}{share}"

    return Column(heading, cell)


def paper_gain(workload: str, preset: str) -> str:
    """The speed-up that the paper printed for a preset, `1.3 to 1.45` or `1.12, up to 1.13`; empty without one."""
    figure = papers.figures(workload).get(preset, {})
    speedup, least, most = (figure.get(key) for key in ("speedup", "speedup_least", "speedup_most"))
    if speedup:
        return f"{speedup:g}, up to {most:g}" if most else f"{speedup:g}"
    return " to ".join(f"{gain:g}" for gain in (least, most) if gain)


MS = time()
US = time("us [95 % CI]", 1e3)
GFLOPS = of_field("GFLOP/s", "gflop_s")
TFLOPS = of_field("TFLOP/s", "gflop_s", 1e-3)
GBS = of_field("GB/s", "gb_s")
PAIRS = of_field("G pair/s", "gop_s")
UPDATES = of_field("G updates/s", "gop_s")
BOUND = of_field("% of bound", "pct_bound", digits=3)
BOUND_BY = Column("bound by", lambda rows, row: str(row.get("bound_by") or ""))

Named = str | tuple[str, str]


def ladder(rows: Rows, names: Sequence[Named], columns: Sequence[Column], first: str = "configuration") -> Table:
    """A line a name, or (text shown, name), of rows of one problem."""
    return several([(rows, names)], columns, first)


def several(parts: Sequence[tuple[Rows, Sequence[Named]]], columns: Sequence[Column], first: str) -> Table:
    """The same of several problems or files, one after the other."""

    def made() -> str:
        lines: list[Line] = []
        for rows, names in parts:
            for name in names:
                shown, wanted = (_code(name), name) if isinstance(name, str) else name
                row = rows.row(wanted)
                lines.append([shown, *(column.cell(rows, row) for column in columns)])
        return markdown([first, *(column.heading for column in columns)], lines)

    return made


def compared(
    places: dict[str, Rows], names: Sequence[Named], cell: Callable[[Rows, Row], Cell], first: str = "configuration"
) -> Table:
    """One number of each row, a line a name and a column a place: a device, a size. Of a row that did not run, why."""

    def told(rows: Rows, name: str) -> Cell:
        row = rows.row(name)
        return cell(rows, row) if row["status"] == "ok" else row["status"]

    def made() -> str:
        lines: list[Line] = []
        for name in names:
            shown, wanted = (_code(name), name) if isinstance(name, str) else name
            lines.append([shown, *(told(rows, wanted) for rows in places.values())])
        return markdown([first, *places], lines)

    return made


def ratios(
    places: dict[str, Rows], pairs: Sequence[tuple[str, str, str]], first: str = "how many times as fast"
) -> Table:
    """Paired ratios of times: a line for each (text shown, name, name of what it is over), a column a place."""

    def made() -> list[Line]:
        return [(text, *(rows.times_as_fast(name, over) for rows in places.values())) for text, name, over in pairs]

    return grid([first, *places], made)


def paper_steps(places: dict[str, Rows], workload: str) -> Table:
    """What every step of the papers brings over the first one: paired ratios, a column a place, and what was printed.
    A kernel that two presets name is one line; one that has no row says so."""

    def made() -> str:
        known = {complete(workload, step.configuration): step for step in reversed(papers.steps(workload).values())}
        first, *others = [(str(kernel), step) for kernel, step in reversed(known.items())]
        lines: list[Line] = []
        for name, step in others:
            cells: list[Cell] = []
            for rows in places.values():
                row = next((row for row in rows.group.rows if row["configuration"] == name), None)
                if row is None or row["status"] != "ok":
                    cells.append("no row" if row is None else str(row["status"]))
                else:
                    cells.append(rows.times_as_fast(name, first[0]))
            lines.append([_code(step.preset), *cells, _printed_gain(workload, step, first[1])])
        base = _code(first[1].preset)
        return markdown([f"times as fast as {base} [95 % CI]", *places, "paper"], lines)

    return made


def _printed_gain(workload: str, step: papers.Step, first: papers.Step) -> str:
    """`2 to 5 (GTX 480)`; of rates on the first step's device their quotient; empty where nothing was printed."""
    gain, rate, base = paper_gain(workload, step.preset), step.figures["gflop_s"], first.figures["gflop_s"]
    if not gain and rate and base and step.device == first.device:
        gain = f"{rate / base:.2f}"
    return f"{gain} ({step.device})" if gain else ""


def _code(name: str) -> str:
    return f"`{name.removeprefix('paper:')}`"


# ---------------------------------------------------------------- aims


@dataclass(frozen=True)
class Aim:
    """What was wanted: a value of at least ``least`` or at most ``most``, in ``unit``."""

    text: str
    value: Callable[[], Value]
    least: float | None = None
    most: float | None = None
    unit: str = ""

    def line(self) -> Line:
        value = self.value()
        wanted = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        unit = f" {self.unit}" if self.unit else ""
        return self.text, f"{wanted}{unit}", f"{value}{unit}", self.verdict(value)

    def verdict(self, value: Value) -> str:
        """`met`, `missed by 2 %`; and whether the interval, which may hold the aim, leaves it open."""
        aim = self.least if self.least is not None else self.most
        if aim is None:
            raise ValueError(f"{self.text}: it has neither a least nor a most")
        short = aim - value.mid if self.least is not None else value.mid - aim
        by = f"{short:.2g} points" if self.unit == "%" else f"{100 * short / aim:.2g} %"
        text = "met" if short <= 0 else f"missed by {by}"
        is_open = value.lo is not None and value.hi is not None and value.lo < aim < value.hi
        return f"{text}; the interval contains the aim" if is_open else text


def aims(*wanted: Aim) -> Table:
    header = ["aim", "wanted", "measured [95 % CI]", "verdict"]
    return lambda: markdown(header, [aim.line() for aim in wanted], words=True)


# ---------------------------------------------------------------- where the numbers are from


def days(rows: Sequence[Row]) -> str:
    """The days on which rows were measured."""
    return _each(sorted(str(row["time_utc"])[:10] for row in rows))


def _each(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values)))


@dataclass(frozen=True)
class Undated:
    """Lines of a script that name no day, with the day on which they were stored."""

    lines: Lines
    day: str


def setup(*sources: Rows | Profile | Points | Undated) -> Table:
    """A line a file: device, driver, protocol and days, as all of its rows say it."""

    def made() -> list[Line]:
        lines: list[Line] = []
        for source in sources:
            if isinstance(source, Profile):
                held = source.held
                lines.append([f"`{source.path}`", held["device"], held["driver"], "profile", held["date"]])
            elif isinstance(source, Undated):
                told = (_each(line[field] for line in source.lines.all()) for field in ("device", "driver"))
                lines.append([f"`{source.lines.path}`", *told, "script", source.day])
            else:
                rows = Points(source.path).measured
                fields = ("device", "driver", "protocol")
                lines.append([f"`{source.path}`", *(_each(row[field] for row in rows) for field in fields), days(rows)])
        return lines

    return lambda: markdown(["rows", "device", "driver", "protocol", "date"], made(), words=True)


__all__ = [
    "BOUND",
    "BOUND_BY",
    "GBS",
    "GFLOPS",
    "MS",
    "PAIRS",
    "TFLOPS",
    "UPDATES",
    "US",
    "Aim",
    "Column",
    "Table",
    "Undated",
    "aims",
    "behind",
    "between",
    "bound",
    "compared",
    "days",
    "error",
    "faster",
    "findings",
    "grid",
    "ladder",
    "markdown",
    "of_field",
    "paper_gain",
    "paper_steps",
    "printed",
    "rate",
    "ratios",
    "setup",
    "several",
    "time",
    "tried",
]
