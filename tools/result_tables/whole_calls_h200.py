"""The page of whole calls on an H200: from a caller's arrays to a caller's arrays, beside other libraries."""

from __future__ import annotations

import json
import math
from functools import cache
from statistics import median
from typing import Any

from .tables import Line, grid
from .values import ROOT, noted, significant

FOLDER = "results/h200/whole-calls"
CALLS, AGAIN, TOMOGRAPHY = (f"{FOLDER}/{name}.jsonl" for name in ("calls", "calls-again", "tomography"))
PRODUCTS = f"{FOLDER}/numpy-products.jsonl"
SHAPES, BEFORE = f"{FOLDER}/shapes.jsonl", f"{FOLDER}/shapes-before.jsonl"
Entry = dict[str, Any]


@cache
def _rows(path: str) -> list[Entry]:
    return [json.loads(line) for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]


def _calls() -> list[Line]:
    """A line a call: its median with the interval on two machines, and the goal where one was set."""
    again = {(row["case"], row["call"]): row for row in _rows(noted(AGAIN))}
    return [
        [
            row["case"].replace("256 MB", "256 MiB"),  # as it is; the rows name it by the shorter word
            row["call"],
            _told(row),
            _told(other) if (other := again.get((row["case"], row["call"]))) else None,
            significant(row["goal_ms"]) if row.get("goal_ms") and row["call"] == "gpuopt" else None,
        ]
        for row in _rows(noted(CALLS))
    ]


def _told(row: Entry) -> str:
    return f"{significant(row['median_ms'])} [{significant(row['low_ms'])}, {significant(row['high_ms'])}]"


def _tomography() -> list[Line]:
    """The first call, which builds and allocates, and those after it."""
    lines: list[Line] = []
    for row in _rows(noted(TOMOGRAPHY)):
        first, *later = (1e3 * seconds for seconds in row["seconds"])
        told = f"{significant(median(later))} [{significant(min(later))}, {significant(max(later))}]"
        lines.append([row["call"], significant(first), told])
    return lines


def _name(row: Entry) -> str:
    sizes = " x ".join(map(str, row["mnk"]))
    return sizes if row["batch"] == 1 else f"{row['batch']} of {sizes}"


def _score(rows: list[Entry]) -> float:
    """Geometric mean of cuBLAS's time over ours, by weight."""
    total = sum(row["weight"] for row in rows)
    return math.exp(sum(row["weight"] * math.log(row["cublas_ms"] / row["ours_ms"]) for row in rows) / total)


def _shapes() -> list[Line]:
    before = {(tuple(row["mnk"]), row["batch"]): row for row in _rows(noted(BEFORE))}
    rows = _rows(noted(SHAPES))
    lines: list[Line] = [
        ["all, by weight", "", "", significant(_score(list(before.values())), 3), significant(_score(rows), 3)]
    ]
    for row in sorted(rows, key=lambda row: (row["class"], math.prod(row["mnk"]))):
        old = before[tuple(row["mnk"]), row["batch"]]
        lines.append(
            [
                f"{row['class']}: {_name(row)}",
                significant(1e3 * row["ours_ms"]),
                significant(1e3 * row["cublas_ms"]),
                significant(old["cublas_ms"] / old["ours_ms"], 3),
                significant(row["cublas_ms"] / row["ours_ms"], 3),
            ]
        )
    return lines


WAYS = ("gpuopt", "to_device, gemm, to_numpy", "CuPy", "PyTorch")


def _products() -> list[Line]:
    """A line a size: the median call of each way, with the least and the greatest."""

    def told(times: list[float]) -> str:
        return f"{significant(times[0], 3)} [{significant(times[1], 3)}, {significant(times[2], 3)}]"

    return [
        [f"{row['m']} x {row['n']} x {row['k']}", *(told(row[way]) for way in WAYS)] for row in _rows(noted(PRODUCTS))
    ]


TABLES = {
    "calls": grid(["case", "call", "ms [95 % CI]", "on another machine", "goal, ms"], _calls),
    "tomography": grid(["call", "first, ms", "later, ms: median [least, greatest]"], _tomography),
    "products": grid(["m x n x k", *(f"{way}, ms" for way in WAYS)], _products),
    "shapes": grid(["product", "ours, us", "cuBLAS, us", "cuBLAS over ours, before", "and now"], _shapes),
}
