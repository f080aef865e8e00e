"""The page of energies on an H200: tables of the rows that results/h200/energy.py writes."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

from gpuopt.configuration import Configuration, complete

from .tables import Cell, Line, grid, markdown
from .values import ROOT, noted, significant

FILE, AGAIN = "results/h200/energy/energy.jsonl", "results/h200/energy/energy-again.jsonl"
YANG, EARLIER = "results/h200/energy/yang.jsonl", "results/h200/energy/energy-2026-11-24.jsonl"
ROUND = 5.0  # percent that two measurements may differ by
Entry = dict[str, Any]


@cache
def _energies(path: str) -> dict[str, Entry]:
    """The last row of each measurement, in the order of measuring."""
    rows = map(json.loads, (ROOT / path).read_text(encoding="utf-8").splitlines())
    return {row["key"]: row for row in rows if row["kind"] == "energy" and row["status"] == "ok"}


def _measured(workload: str, path: str = FILE) -> list[Entry]:
    return [row for row in _energies(noted(path)).values() if row["workload"] == workload]


def _run_ms(row: Entry) -> float:
    """Of the loops of the energy, back to back."""
    return float(1e3 * sum(row["loop_s"]) / sum(row["loop_runs"]))


def _apart(row: Entry, name: str) -> Cell:
    value = row.get(name)
    return None if value is None else f"{value:.1f}" + (" *" if abs(value) > ROUND else "")


def _number(row: Entry, name: str) -> Cell:
    return None if row.get(name) is None else significant(row[name])


def _name(row: Entry) -> Any:
    if row["workload"] == "microbench":
        shape = row["params"]
        block = f", blocks of {shape['LOCAL_X']} x {shape['LOCAL_Y']}" if "LOCAL_X" in shape else ""
        wide = f" x {shape['WIDTH']}" if shape.get("WIDTH", 1) > 1 else ""
        return f"{row['variant']} of {row['dtype']}{wide}{block}"
    return row.get("preset") or _short(row)


def _short(row: Entry) -> str:
    """The variant and the levels by which it differs from the standard ones."""
    standard = complete(row["workload"], Configuration(row["variant"])).parameters
    levels = [f"{key}={value}" for key, value in row["params"].items() if standard.get(key) != value]
    return f"{row['variant']}({', '.join(levels)})"


HEADER = [
    *("configuration", "ms", "net mJ", "mean W", "GFLOP/J", "GB/J"),
    *("loops apart, %", "power over counter, %"),
]


def _lines(workload: str, path: str = FILE) -> list[Line]:
    return [
        [
            _name(row),
            significant(_run_ms(row)),
            significant(1e3 * row["net_j"]),
            significant(row["mean_w"], 3),
            _number(row, "gflop_j"),
            _number(row, "gb_j"),
            _apart(row, "apart_pct"),
            _apart(row, "power_pct"),
        ]
        for row in _measured(workload, path)
    ]


def _checks() -> list[Line]:
    """How far the numbers hold."""
    rows = list(_energies(noted(FILE)).values())
    again = list(_energies(noted(AGAIN)).values())
    first, last = rows[0], again[0]
    idles = [watts for row in (rows[-1], last) for watts in row["idles_w"]]
    change = 100 * (last["net_j"] / first["net_j"] - 1)

    def worst(name: str) -> str:
        return significant(max(abs(row[name]) for row in rows if row.get(name) is not None), 2)

    return [
        ["the copy of 1 GiB, first and last of all: net J", f"{first['net_j']:.4f} and {last['net_j']:.4f}"],
        ["the last over the first, %", f"{change:+.2f}"],
        ["two loops of one configuration apart, at most, %", worst("apart_pct")],
        ["of them by more than 5 %", f"{sum((row.get('apart_pct') or 0) > ROUND for row in rows)} of {len(rows)}"],
        ["instant power over the counter, at most, %", worst("power_pct")],
        ["idle W, before and after each pass", ", ".join(f"{watts:.1f}" for watts in idles)],
        ["share of the time that the sensor samples, %", significant(first["sensor_pct"], 2)],
    ]


def _found(path: str, workload: str, **wanted: Any) -> Entry | None:
    for row in _measured(workload, path):
        told = {**row, **row["params"]}
        if all(told.get(key) == value for key, value in wanted.items()):
            return row
    return None


def _ratio(path: str, workload: str, name: str, one: dict[str, Any], other: dict[str, Any]) -> tuple[Cell, Cell]:
    """What one does a joule over the other, and the ratio of their speeds: of one file, which is of one board."""
    first, second = _found(path, workload, **one), _found(path, workload, **other)
    if first is None or second is None or not first.get(name) or not second.get(name):
        return None, None
    return significant(first[name] / second[name], 3), significant(_run_ms(second) / _run_ms(first), 3)


def _yang() -> list[Line]:
    """Printed for a GTX 480, whole system at the plug; ours is the board."""
    blocks = {size: {"preset": f"paper:block_{size}"} for size in ("16x16", "32x8", "32x16", "32x32")}
    pairs: list[tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = [
        (
            *("products, blocks of 32 x 32 over 16 x 16", "most of all; up to 1.22", "gemm", "gflop_j"),
            blocks["32x32"],
            blocks["16x16"],
        ),
        ("products, blocks of 32 x 16 over 16 x 16", "more", "gemm", "gflop_j", blocks["32x16"], blocks["16x16"]),
        ("products, blocks of 32 x 8 over 16 x 16", "more", "gemm", "gflop_j", blocks["32x8"], blocks["16x16"]),
        (
            *("2-D copies, blocks of 32 x 8 over 16 x 16", "up to 1.15", "microbench", "gb_j"),
            {"LOCAL_X": 32, "LOCAL_Y": 8},
            {"LOCAL_X": 16, "LOCAL_Y": 16},
        ),
        (
            *("copies, unsigned bytes over floats", "as the bandwidth: less", "microbench", "gb_j"),
            {"variant": "copy", "dtype": "uint8", "WIDTH": 1},
            {"variant": "copy", "dtype": "float32", "WIDTH": 1},
        ),
        (
            *("copies, float4 over float", "as the bandwidth: alike", "microbench", "gb_j"),
            {"variant": "copy", "dtype": "float32", "WIDTH": 4},
            {"variant": "copy", "dtype": "float32", "WIDTH": 1},
        ),
    ]  # fmt: skip
    steps = {name: {"preset": f"paper:{name}"} for name in ("naive", "f2", "tlp", "tlp_f2")}
    shapes = {f"{x}x{y}": {"LOCAL_X": x, "LOCAL_Y": y} for x, y in ((8, 32), (16, 16), (64, 4))}
    of_yang: list[tuple[str, str, str, str, dict[str, Any], dict[str, Any]]] = [
        ("transposed products, float2 over naive", "as the speed", "tmv", "gb_j", steps["f2"], steps["naive"]),
        ("transposed products, tlp over naive", "as the speed", "tmv", "gb_j", steps["tlp"], steps["naive"]),
        ("transposed products, both over naive", "as the speed", "tmv", "gb_j", steps["tlp_f2"], steps["naive"]),
        (
            *("2-D copies, blocks of 8 x 32 over 64 x 4", "less", "microbench", "gb_j"),
            {"variant": "copy2d", **shapes["8x32"]},
            {"variant": "copy2d", **shapes["64x4"]},
        ),
        (
            *("pairs of rows through the cache, blocks of 8 x 32 over 16 x 16", "up to 1.87", "microbench", "gflop_j"),
            {"variant": "cache_reuse", **shapes["8x32"]},
            {"variant": "cache_reuse", **shapes["16x16"]},
        ),
    ]
    told = [
        (what, text, *_ratio(file, *rest)) for file, of in ((FILE, pairs), (YANG, of_yang)) for what, text, *rest in of
    ]
    return [list(line) for line in told if line[2] is not None]


def _boards() -> list[Line]:
    """The same runs on another board of the kind, some days before."""
    earlier = _energies(noted(EARLIER))
    return [
        [
            _name(row),
            significant(_run_ms(row) / _run_ms(old), 3),
            significant(row["net_j"] / old["net_j"], 3),
            f"{significant(row['mean_w'], 3)} and {significant(old['mean_w'], 3)}",
        ]
        for row in _energies(noted(FILE)).values()
        for old in earlier.values()
        if _same(row, old)
    ]


def _same(one: Entry, other: Entry) -> bool:
    names = ("workload", "problem", "configuration", "dtype")
    return all(one[name] == other[name] for name in names)


TABLES = {
    "checks": lambda: markdown(["", "measured"], _checks(), words=True),
    **{name: grid(HEADER, partial(_lines, name)) for name in ("microbench", "spmv", "gemm", "gem", "tomography")},
    **{f"yang_{name}": grid(HEADER, partial(_lines, name, YANG)) for name in ("microbench", "tmv")},
    "boards": grid(["configuration", "time over the earlier", "net J over the earlier", "mean W"], _boards),
    "yang": grid(["ratio", "printed, GTX 480: work a joule", "work a joule", "speed"], _yang),
}
