"""The table of a survey's points: a section a family, a line a point, each rate in its own unit."""

from __future__ import annotations

from dataclasses import replace

from gpuopt import labels
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.table import ABSENT, Column, Line, Sheet, byte_count, joined, significant, spread
from gpuopt.lab.show.tables import FLAG_MEANINGS

COLUMNS = (
    Column("name", "question", ("",), "000111", right=False),
    Column("dtype", "type", ("",), "00000-", right=False),
    Column("size", "data", ("",), "000000"),
    Column("time", "time", ("ms [95 % CI]", "ms ± CI", "ms"), "011222"),
    Column("rate", "rate", ("",), "000000"),
    Column("unit", "", ("",), "000000", right=False),
    Column("doubled", "twice the trips", ("",), "00-----"),
    Column("status", "status", ("",), "000000", right=False),
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


def sheet(rows: list[Row]) -> Sheet:
    """The table of points of one device."""
    first = rows[0]
    date = max((str(row["time_utc"])[:10] for row in rows if row["time_utc"]), default="")
    title = labels.of(first["workload"]).title or str(first["workload"])
    header = [
        " · ".join(filter(None, [title, str(first.get("device")), f"driver {first['driver']}"])),
        " · ".join(filter(None, [f"protocol {first['protocol']}", f"gpuopt {first['gpuopt_version']}", date])),
    ]
    families = list(dict.fromkeys(str(row["family"] or "") for row in rows))
    sections = [(name, [_line(row) for row in rows if str(row["family"] or "") == name]) for name in families]
    filled = {key for _, lines in sections for line in lines for key, forms in line.cells.items() if forms != ABSENT}
    columns = [replace(column) for column in COLUMNS if column.key in filled]
    return Sheet(columns, header, sections, _footers(rows))


def _line(row: Row) -> Line:
    flags = " *" if row["flags"] else ""
    size = (row["sizes"] or {}).get("bytes")
    cells = {
        "name": (str(row["configuration"]), str(row["variant"])),
        "dtype": (element_name(row),),
        "size": (byte_count(size) if size else "-",),
        "status": (f"{row['status']}{flags}",),
    }
    if row["status"] != "ok":
        return Line(cells)
    rate, unit = rate_of(row)
    cells["time"] = spread(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"], digits=4)
    cells["rate"], cells["unit"] = (significant(rate),), (unit,)
    cells["doubled"] = (f"{row['doubled']:.2f}x",) if row["doubled"] else ABSENT
    return Line(cells)


def _footers(rows: list[Row]) -> list[tuple[str, str]]:
    out: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["status"] != "ok":
            out.setdefault((row["status"], str(row["reason"] or "no reason was recorded")), []).append(
                f"{row['variant']} {element_name(row)}"
            )
    told = [(f"{status}: {joined(list(dict.fromkeys(names)))}", why) for (status, why), names in out.items()]
    for flag in dict.fromkeys(flag for row in rows for flag in row["flags"]):
        names = list(dict.fromkeys(str(row["variant"]) for row in rows if flag in row["flags"]))
        told.append((f"* {flag}", f"{joined(names)} ({FLAG_MEANINGS.get(flag, 'no meaning is on record')})"))
    return told
