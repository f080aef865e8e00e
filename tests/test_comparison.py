"""Blocks of made-up targets: what their bounds are divided by, and which rows are held against the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from gpuopt.lab import comparison
from gpuopt.lab.comparison import Comparison
from gpuopt.lab.measure import PROTOCOLS, Ledger, Sampler
from gpuopt.lab.progress import Bar
from gpuopt.lab.recorder import Recorder
from gpuopt.lab.results import KEY_FIELDS, Row
from gpuopt.lab.targets import Target

MB = 1e6


@dataclass(frozen=True)
class Card:
    timer_ns: float = 1.0


def target(label: str, role: str, time_ms: float, bytes_: dict[str, float] | None = None, **fields: Any) -> Target:
    row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label, "workload": "spmv", **fields}
    return Target(label, role, row, Sampler(lambda count: [time_ms] * count, "event"), lambda: None, bytes_ or {}, 2e6)


def targets() -> list[Target]:
    return [
        target("basic", "variant", 2.0, {"dram": 10 * MB, "requested": 30 * MB}, preset="paper:basic"),
        target("cached", "variant", 1.25, {"dram": 10 * MB, "requested": 30 * MB}),
        target("uncounted", "variant", 2.0, {"dram": 10 * MB}),
        target("M @ x", "call", 4.0),
        target("SciPy", "peer", 8.0),
        # 10 GB/s from memory; what the kernel asks for beside it is no rate of the memory.
        target("read", "ceiling", 1.0, {"dram": 10 * MB, "requested": 70 * MB}),
        target("launch", "overhead", 0.01, {"dram": 8192.0}),
    ]


def compare(made: list[Target], monkeypatch: pytest.MonkeyPatch, recorder: Recorder | None = None) -> list[Row]:
    monkeypatch.setattr(comparison, "device_state", lambda device: {"throttle": None})
    recorder = recorder or Recorder(None)
    run = Comparison(made, "dram", Card(), PROTOCOLS["quick"], recorder, Ledger(), 1)  # type: ignore[arg-type]
    run.run(Bar(False, 0))
    return recorder.rows


def summaries(rows: list[Row]) -> dict[str, Row]:
    return {row["variant"]: row for row in rows if row["kind"] == "summary"}


def test_the_bounds_divide_by_what_comes_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = summaries(compare(targets(), monkeypatch))
    assert rows["basic"]["bound_ms"] == pytest.approx(1.0)
    assert rows["basic"]["pct_bound"] == pytest.approx(50)
    assert rows["basic"]["uncached_ms"] == pytest.approx(3.0)
    assert rows["basic"]["pct_uncached"] == pytest.approx(150)


def test_the_bound_without_caches_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = compare(targets(), monkeypatch)
    assert summaries(rows)["cached"]["pct_uncached"] == pytest.approx(240)
    assert not any("over_bound" in row["flags"] for row in rows)
    assert (
        "over_bound"
        in summaries(compare([*targets(), target("over", "variant", 0.5, {"dram": 10 * MB})], monkeypatch))["over"][
            "flags"
        ]
    )


def test_what_declares_no_requests_has_no_such_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = compare(targets(), monkeypatch)
    for row in (row for row in rows if row["variant"] not in ("basic", "cached")):
        assert row["uncached_ms"] is None
        assert row["pct_uncached"] is None
    assert all(row["uncached_ms"] for row in rows if row["variant"] == "cached")


def test_calls_and_peers_are_compared_and_a_launch_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = compare(targets(), monkeypatch)
    found = summaries(rows)
    assert {name: row["role"] for name, row in found.items()} == {made.label: made.role for made in targets()}
    assert found["M @ x"]["verdict"] == "SLOW"
    assert found["M @ x"]["ratio"] == pytest.approx(2.0)
    assert found["launch"]["verdict"] is None
    assert found["launch"]["median_ms"] == pytest.approx(0.01)
    for name in ("M @ x", "launch"):
        assert [row["block"] for row in rows if row["kind"] == "block" and row["variant"] == name] == list(range(10))
        assert found[name]["bound_ms"] is None


def test_older_blocks_without_the_model_still_count(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(None)
    compare(targets(), monkeypatch, recorder)
    old = {r["block"]: [] for r in recorder.rows if r["kind"] == "block"}
    for row in (row for row in recorder.rows if row["kind"] == "block"):
        old[row["block"]].append(row | {"uncached_ms": None, "pct_uncached": None} if row["block"] < 9 else row)
    monkeypatch.setattr(recorder, "blocks", lambda keys: old)
    recorder.rows.clear()
    found = summaries(compare(targets(), monkeypatch, recorder))
    assert found["basic"]["blocks"] == 10
    assert found["basic"]["uncached_ms"] == pytest.approx(3.0)
