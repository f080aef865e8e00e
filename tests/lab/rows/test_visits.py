"""Visits of a block as rows: the baseline's around them, ratios to those, and what compact files keep of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import study_rows
from gpuopt.lab.rows import compact, visits
from gpuopt.lab.rows.schema import Row, new_row
from gpuopt.lab.rows.store import Store


def visit(order: int, median_ms: float, at_s: list[float] | None, **fields: Any) -> Row:
    row: Row = {"order": order, "at_s": at_s, "block": 0, "n": 10, "batch_n": 100, "clock": "event", "mad_ms": 0.0}
    return study_rows.timed("block", "basic", median_ms, **{**row, **fields})


def test_a_visit_is_held_against_the_baseline_at_its_moment() -> None:
    before, after = visit(0, 1.0, [0.0]), visit(9, 1.21, [10.0])
    wall = [visit(1, 3.0, [1.0], clock="wall"), visit(10, 3.0, [11.0], clock="wall")]
    for share in (0.25, 0.5, 1.0):  # the middles of visits of 1, 2 and 1.21 seconds
        row = visit(5, 2.0, [0.5 + share * (10.605 - 0.5) - 1.0])
        around = visits.enclosing(row, [before, *wall, after])
        assert around == (before, after)
        assert visits.ratio_to(row, around) == pytest.approx(2.0 / 1.21**share)
    assert visits.share_between(visit(5, 2.0, None), before, after) == 0.5
    assert visits.enclosing(before, [before, after]) == (before, before)
    assert visits.enclosing(visit(5, 2.0, [1.0], clock="batch"), [before, *wall, after]) is None


def test_the_noise_of_a_ratio_is_of_three_visits() -> None:
    row, before, after = (visit(order, 2.0, [order * 4.0], mad_ms=0.02) for order in (1, 0, 2))
    one = visits.variance_within(row, (row, row)) / 2  # itself twice: half way, as much as it has alone
    assert visits.variance_within(row, (before, after)) == pytest.approx(1.5 * one / 0.75, rel=0.01)


def test_the_middle_of_a_visit_and_the_clone_survive_compaction(tmp_path: Path) -> None:
    starts = [0.25 * number for number in range(9)]
    rows = [
        study_rows.timed("summary", "basic", 20.0, baseline="basic"),
        visit(3, 20.0, starts, baseline="basic", ratio=1.0, n=9, batch_n=10),
        visit(4, 21.0, starts, baseline="basic", ratio=1.05, n=9, batch_n=10, role="clone"),
        study_rows.timed("summary", "basic", 21.0, role="clone", baseline="basic"),
    ]
    store = Store(tmp_path / "rows.jsonl")
    for row in rows:
        store.append(new_row(**{key: value for key, value in row.items() if value is not None}))  # type: ignore[arg-type]
    before = store.latest()
    compact.compact_file(tmp_path / "rows.jsonl")
    after = Store(tmp_path / "rows-compact.jsonl").latest()
    assert [row["row_id"] for row in after] == [row["row_id"] for row in before]
    assert len({row["row_id"] for row in before}) == 4
    for ours, theirs in zip(after, before, strict=True):
        if theirs["kind"] == "block":
            assert ours["at_s"] == [starts[0], starts[-1]]
            assert visits.middle_s(ours) == pytest.approx(visits.middle_s(theirs))
            assert ours["ratio"] == theirs["ratio"]
