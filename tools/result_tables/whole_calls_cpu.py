"""The page of whole calls on two CPU runtimes, beside NumPy, SciPy and a loop in C++."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from .tables import Line, grid
from .values import ROOT, noted, significant

FILES = {"Intel": "results/cpu-2core/intel-whole-calls.jsonl", "PoCL": "results/cpu-2core/pocl-whole-calls.jsonl"}
Entry = dict[str, Any]


@cache
def _rows(path: str) -> dict[tuple[str, str], Entry]:
    rows = map(json.loads, (ROOT / path).read_text(encoding="utf-8").splitlines())
    return {(row["case"], row["call"]): row for row in rows}


def _told(row: Entry) -> str:
    return f"{significant(row['median_ms'])} [{significant(row['low_ms'])}, {significant(row['high_ms'])}]"


def _calls() -> list[Line]:
    """A line a call: its median with the interval by each runtime, and its time over that of gpuopt's own."""
    files = [_rows(noted(path)) for path in FILES.values()]
    lines: list[Line] = []
    for case, call in files[0]:
        rows = [rows[case, call] for rows in files]
        own = [rows[case, "gpuopt"]["median_ms"] for rows in files]
        over = [significant(row["median_ms"] / ours, 3) for row, ours in zip(rows, own, strict=True)]
        lines.append([case, call, *map(_told, rows), " and ".join(over) if call != "gpuopt" else None])
    return lines


TABLES = {"calls": grid(["case", "call", *(f"{name}, ms [95 % CI]" for name in FILES), "times ours"], _calls)}
