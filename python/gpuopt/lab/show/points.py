"""The table of a survey's points: a section a family, a line a point, each rate in its own unit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpuopt import labels
from gpuopt.lab.rows import conditions
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import ABSENT, Column, Forms, Line, Sheet, byte_count, joined, significant, spread
from gpuopt.lab.show.sentences import apart, place_of
from gpuopt.lab.show.tables import FLAG_MEANINGS

COLUMNS = (
    Column("name", "question", ("",), "000111", right=False),
    Column("dtype", "type", ("",), "000111", right=False),
    Column("size", "data", ("",), "000000"),
    Column("time", "time", ("ms [95 % CI]", "ms ± CI", "ms"), "011222"),
    Column("rate", "rate", ("",), "000000"),
    Column("unit", "", ("",), "000000", right=False),
    Column("doubled", "twice the trips", ("",), "00-----"),
)

# What an OpenCL programmer calls a NumPy scalar type; the order in which pictures show them.
OPENCL_NAMES = {
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "float16": "half",
    "int32": "int",
    "uint32": "uint",
    "float32": "float",
    "int64": "long",
    "uint64": "ulong",
    "float64": "double",
}
MOST_FLAGS = 3  # that a headline counts
INTENSE = 1.0  # flop a byte: points of more are shown in flops, others in bytes


def rate_of(row: Row) -> tuple[float | None, str]:
    """The point's figure of merit and its unit: ns a dependent load, us a launch, results, flops or bytes a second."""
    if row["latency_ns"]:
        return float(row["latency_ns"]), "ns"
    if row["family"] == "launch" and row["median_ms"]:
        return float(row["median_ms"]) * 1e3, "us"
    if row["family"] == "tensor":
        return row["gop_s"], "GFLOP/s"
    special = row["special"] or {}
    if special and not row["gb_s"]:
        return row["gop_s"], f"G {'+'.join(special)}/s"
    if row["gflop_s"] and (not row["gb_s"] or row["gflop_s"] > INTENSE * row["gb_s"]):
        return row["gflop_s"], "GFLOP/s"
    return row["gb_s"], "GB/s"


def element_name(row: Row) -> str:
    """`float4`, `char`, `struct of 5 floats`."""
    scalar = OPENCL_NAMES.get(str(row["dtype"]), str(row["dtype"]))
    own = levels(row)
    width = own.get("WIDTH") or own.get("SPAN") or 1
    if own.get("STRUCT") or row["variant"] == "copy_staged":
        return f"struct of {width} {scalar}s"
    return scalar if width == 1 else f"{scalar}{width}"


def sheet(rows: list[Row], study: StudyRows | None = None) -> Sheet:
    """The table of points of one device, which are of ``study``."""
    first = rows[0]
    title = labels.of(first["workload"]).title or str(first["workload"])
    header = [
        " · ".join(filter(None, [title, str(first.get("device")), f"driver {first['driver']}"])),
        f"protocol {first['protocol']}",
        *conditions.lines(study or StudyRows(rows), rows),
    ]
    families = list(dict.fromkeys(str(row["family"] or "") for row in rows))
    sections = [(name, [_line(row) for row in rows if str(row["family"] or "") == name]) for name in families]
    filled = {key for _, lines in sections for line in lines for key, forms in line.cells.items() if forms != ABSENT}
    columns = [replace(column) for column in COLUMNS if column.key in filled]
    return Sheet(columns, header, sections, [("", "* remarks")] if any(row["flags"] for row in rows) else [])


def _line(row: Row) -> Line:
    flags = " *" if row["flags"] else ""
    element = element_name(row)
    size = (row["sizes"] or {}).get("bytes")
    cells: dict[str, Forms] = {
        "name": (f"{row['configuration']}{flags}", f"{row['variant']}{flags}"),
        "dtype": (element, element.removeprefix("struct of ")),
        "size": (byte_count(size) if size else "-",),
    }
    if row["status"] != "ok":
        cells["time"] = (str(row["status"]),)
        return Line(cells)
    rate, unit = rate_of(row)
    cells["time"] = spread(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"], digits=4)
    cells["rate"], cells["unit"] = (significant(rate),), (unit,)
    cells["doubled"] = (f"{row['doubled']:.2f}x",) if row["doubled"] else ABSENT
    return Line(cells)


def remarks(rows: list[Row]) -> list[tuple[str, str]]:
    """Why points did not run, and what their flags mean."""
    out: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["status"] != "ok":
            out.setdefault((row["status"], str(row["reason"] or "no reason was recorded")), []).append(
                f"{row['variant']} {element_name(row)}"
            )
    told = [(f"{status}: {joined(list(dict.fromkeys(names)))}", why) for (status, why), names in out.items()]
    for flag in dict.fromkeys(flag for row in rows for flag in row["flags"]):
        if flag == "suspicious":
            told += _suspicious([row for row in rows if flag in row["flags"]])
            continue
        names = list(dict.fromkeys(str(row["variant"]) for row in rows if flag in row["flags"]))
        told.append((f"* {flag}", f"{joined(names)} ({FLAG_MEANINGS.get(flag, 'no meaning is on record')})"))
    asked = dict.fromkeys(str(row["family"] or row["variant"]) for row in rows if _asks_again(row))
    return [*told, ("GB/s", f"of {joined(list(asked))}: {ASKED_MEANING}")] if asked else told


FOLDED = 1.1  # twice the trips in less than so many times the time: the trips cost next to nothing
ASKED_MEANING = (
    "bytes that work-items ask for, whichever level serves them; of data that fit a cache only in part, the rest comes "
    "from the level below"
)


def _asks_again(row: Row) -> bool:
    """Whether the row's bytes are those that its work-items ask for, again and again, not those that memory moves."""
    return row["status"] == "ok" and bool(row["bytes"]) and "dram" not in (row["bytes"] or {})


def _suspicious(rows: list[Row]) -> list[tuple[str, str]]:
    """What may be behind a time that did not double with the trips, by what doubling them did."""
    out: dict[str, list[str]] = {}
    for row in rows:
        ratio = row["doubled"] or 0.0
        if ratio < FOLDED:
            why = "the trips cost next to no time: a folded loop, or a run that is nearly all launch"
        elif ratio < 2 and _asks_again(row):
            why = (
                "the later trips were served from nearer than the first, as where data fit a cache only in part: the "
                "rate is that of no single level"
            )
        elif ratio < 2:
            why = "a part of the time does not grow with the trips, or the clocks rose"
        else:
            why = "the later trips took longer than the first: clocks that fell, or data that left a cache"
        out.setdefault(why, []).append(f"{row['variant']} {element_name(row)} {ratio:.2f}x")
    meaning = FLAG_MEANINGS["suspicious"]
    return [("* suspicious", f"{joined(list(dict.fromkeys(names)))} ({meaning}; {why})") for why, names in out.items()]


# ---------------------------------------------------------------- the headline


def headline(study: StudyRows) -> list[tuple[str, str]]:
    """The three lines of a survey: the best rate of each unit, what the questions cover, how sure the points are."""
    points = study.points
    ran = [row for row in points if row["status"] == "ok"]
    best: dict[str, tuple[float, Row]] = {}
    for row in ran:
        rate, unit = rate_of(row)
        least = unit in ("ns", "us")
        if rate and (unit not in best or (rate < best[unit][0]) == least):
            best[unit] = (rate, row)
    places = dict(zip(map(id, points), apart([place_of(row) for row in points]), strict=True))
    told = [
        f"{row['variant']} {element_name(row)} {significant(rate)} {unit}{f' on {place}' if place else ''}"
        for unit, (rate, row) in best.items()
        for place in [places[id(row)]]
    ]
    families = dict.fromkeys(str(row["family"] or row["variant"]) for row in ran)
    flags = Counter(flag for row in ran for flag in row["flags"])
    doubts = [f"{count} {flag}" for flag, count in flags.most_common(MOST_FLAGS)]
    failed = len(points) - len(ran)
    sure = [
        f"{len(ran)} points, each alone: no verdicts between them",
        f"{failed} did not run" if failed else "",
        f"flagged: {joined(doubts)}" if doubts else "no flags",
    ]
    then = "the same command goes on where it stopped" if study.interrupted else "`gpuopt profile` keeps the ceilings"
    start = "interrupted; " if study.interrupted else ""
    few = list(families)[:MOST_FLAGS]
    asked = joined(few) if len(families) <= MOST_FLAGS else f"{len(families)} topics ({', '.join(few)} and more)"
    return [
        ("Fastest", f"{'; '.join(told) or 'nothing ran'}."),
        ("Paper", f"questions on {asked or 'nothing'}; `gpuopt papers` holds claims against them."),
        ("How sure", f"{start}{'; '.join(filter(None, sure))}. Next: {then}."),
    ]
