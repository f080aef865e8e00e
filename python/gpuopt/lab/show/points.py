"""The table of a survey's points: a section a family, a line a point, each rate in its own unit."""

from __future__ import annotations

from dataclasses import replace

from gpuopt.lab.rows.schema import Row
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
INTENSE = 1.0  # flop a byte from which a point is told in flops rather than bytes


def rate_of(row: Row) -> tuple[float | None, str]:
    """The point's figure of merit and its unit: ns a dependent load, us a launch, results, flops or bytes a second."""
    if row.get("latency_ns"):
        return float(row["latency_ns"]), "ns"
    if row.get("family") == "launch" and row.get("median_ms"):
        return float(row["median_ms"]) * 1e3, "us"
    if row.get("family") == "tensor":
        return row.get("gop_s"), "GFLOP/s"
    special = row.get("special") or {}
    if special and not row.get("gb_s"):
        return row.get("gop_s"), f"G {'+'.join(special)}/s"
    if row.get("gflop_s") and (not row.get("gb_s") or row["gflop_s"] > INTENSE * row["gb_s"]):
        return row["gflop_s"], "GFLOP/s"
    return row.get("gb_s"), "GB/s"


def element_name(row: Row) -> str:
    """`float4`, `char`, `struct of 5 floats`."""
    scalar = OPENCL_NAMES.get(str(row.get("dtype")), str(row.get("dtype")))
    params = row.get("params") or {}
    width = int(params.get("WIDTH") or params.get("SPAN") or 1)
    if params.get("STRUCT") or str(row.get("variant")) == "copy_staged":
        return f"struct of {width} {scalar}s"
    return scalar if width == 1 else f"{scalar}{width}"


def sheet(rows: list[Row]) -> Sheet:
    """The table of points of one device."""
    first = rows[0]
    date = max((str(row["time_utc"])[:10] for row in rows if row.get("time_utc")), default="")
    header = [
        " · ".join(filter(None, ["microbenchmarks", str(first.get("device")), f"driver {first.get('driver')}"])),
        " · ".join(filter(None, [f"protocol {first.get('protocol')}", f"gpuopt {first.get('gpuopt_version')}", date])),
    ]
    families = list(dict.fromkeys(str(row.get("family") or "") for row in rows))
    sections = [(name, [_line(row) for row in rows if str(row.get("family") or "") == name]) for name in families]
    filled = {key for _, lines in sections for line in lines for key, forms in line.cells.items() if forms != ABSENT}
    columns = [replace(column) for column in COLUMNS if column.key in filled]
    return Sheet(columns, header, sections, _footers(rows))


def _line(row: Row) -> Line:
    flags = " *" if row.get("flags") else ""
    size = (row.get("sizes") or {}).get("bytes")
    cells = {
        "name": (str(row.get("configuration")), str(row.get("variant"))),
        "dtype": (element_name(row),),
        "size": (byte_count(size) if size else "-",),
        "status": (f"{row['status']}{flags}",),
    }
    if row["status"] != "ok":
        return Line(cells)
    rate, unit = rate_of(row)
    cells["time"] = spread(row.get("median_ms"), row.get("ci_lo_ms"), row.get("ci_hi_ms"), digits=4)
    cells["rate"], cells["unit"] = (significant(rate),), (unit,)
    cells["doubled"] = (f"{row['doubled']:.2f}x",) if row.get("doubled") else ABSENT
    return Line(cells)


def _footers(rows: list[Row]) -> list[tuple[str, str]]:
    out: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["status"] != "ok":
            out.setdefault((row["status"], str(row.get("reason") or "no reason was recorded")), []).append(
                f"{row['variant']} {element_name(row)}"
            )
    told = [(f"{status}: {joined(list(dict.fromkeys(names)))}", why) for (status, why), names in out.items()]
    for flag in dict.fromkeys(flag for row in rows for flag in row.get("flags") or []):
        names = list(dict.fromkeys(str(row["variant"]) for row in rows if flag in (row.get("flags") or [])))
        told.append((f"* {flag}", f"{joined(names)} ({FLAG_MEANINGS.get(flag, 'no meaning is on record')})"))
    return told
