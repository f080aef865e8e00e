"""Damaged rows are discrepancies: no error ends an audit, and none takes the memory of a number that a row holds."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuopt.audit import audit
from gpuopt.lab.rows.store import Store

STORED = Path(__file__).parent / "first_generation.jsonl"


def damaged(folder: Path, change: Callable[[dict[str, Any]], None], kind: str, role: str) -> Path:
    rows = [dict(row) for row in Store(STORED).latest()]
    for row in rows:
        if (row["kind"], row["role"]) == (kind, role):
            change(row)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("role", ["sentinel", "variant", "ceiling"])
def test_rows_without_their_times_are_discrepancies(tmp_path: Path, role: str) -> None:
    path = damaged(tmp_path, lambda row: row.update(median_ms=None), "block", role)
    assert not audit(path).ok


def test_a_place_of_any_number_takes_no_memory(tmp_path: Path) -> None:
    path = damaged(tmp_path, lambda row: row.update(order=10**9), "block", "variant")
    tracemalloc.start()
    try:
        assert not audit(path).ok
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
