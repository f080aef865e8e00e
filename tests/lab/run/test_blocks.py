"""Blocks of made-up targets: what their bounds are divided by, and which rows are held against the baseline."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import KEY_FIELDS, Row
from gpuopt.lab.run import blocks as comparison
from gpuopt.lab.run.blocks import Comparison
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer, Protocol
from gpuopt.lab.timing.samplers import Sampler
from gpuopt.progress import Bar

MB = 1e6


@dataclass(frozen=True)
class Card:
    timer_ns: float = 1.0


def target(label: str, role: str, time_ms: float, bytes_: dict[str, float] | None = None, **fields: Any) -> Candidate:
    row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label, "workload": "spmv", **fields}
    row |= {"sizes": {"bytes": 1}} if role == "ceiling" else {}
    work = {"bytes": bytes_ or {}, "flops": 2e6}
    return Candidate(label, role, row, Sampler(lambda count: [time_ms] * count, "event"), lambda: None, work)


def targets() -> list[Candidate]:
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


def compare(
    made: list[Candidate],
    monkeypatch: pytest.MonkeyPatch,
    recorder: Recorder | None = None,
    protocol: Protocol = PROTOCOLS["quick"],
) -> list[Row]:
    monkeypatch.setattr(comparison, "device_state", lambda device: {"throttle": None})
    recorder = recorder or Recorder(None)
    run = Comparison(made, "dram", Card(), protocol, recorder, PhaseTimer(), 1)  # type: ignore[arg-type]
    run.run(Bar(False, 0))
    return recorder.rows


def summaries(rows: list[Row]) -> dict[str, Row]:
    return {row["variant"]: row for row in rows if row["kind"] == "summary"}


def test_the_bounds_divide_by_what_comes_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = summaries(compare(targets(), monkeypatch))
    assert rows["basic"]["bound_ms"] == pytest.approx(1.0)
    assert rows["basic"]["pct_bound"] == pytest.approx(50)
    # Three times the bytes; what the shortest kernel takes of the ceiling's time is no time of bytes.
    assert rows["basic"]["uncached_ms"] == pytest.approx(0.01 + 3 * 0.99)
    assert rows["basic"]["pct_uncached"] == pytest.approx(149)


def test_the_bound_without_caches_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = compare(targets(), monkeypatch)
    assert summaries(rows)["cached"]["pct_uncached"] == pytest.approx(100 * 2.98 / 1.25)
    assert not any("over_bound" in row["flags"] for row in rows)
    assert (
        "over_bound"
        in summaries(compare([*targets(), target("over", "variant", 0.5, {"dram": 10 * MB})], monkeypatch))["over"][
            "flags"
        ]
    )


def test_a_median_above_the_bound_is_flagged_however_uncertain(monkeypatch: pytest.MonkeyPatch) -> None:
    near, draw = target("near", "variant", 1.0, {"dram": 10 * MB}), random.Random(3)
    near.sampler.take = lambda count: [draw.choice((0.96, 0.98, 0.99, 1.04))] * count
    row = summaries(compare([*targets(), near], monkeypatch))["near"]
    assert row["pct_lo"] <= 100 < row["pct_bound"]
    assert "over_bound" in row["flags"]


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
    monkeypatch.setattr(recorder, "blocks", lambda *arguments, **more: old)
    recorder.rows.clear()
    found = summaries(compare(targets(), monkeypatch, recorder))
    assert found["basic"]["blocks"] == 10
    assert found["basic"]["uncached_ms"] == pytest.approx(2.98)


# ---------------------------------------------------------------- failures


def failing(made: Candidate, when: int, error: Exception | None) -> Candidate:
    """The target, which from the given sample on raises ``error``, or shows no time for None."""
    taken, good = itertools.count(), made.sampler.take

    def take(count: int) -> list[float]:
        if next(taken) < when:
            return good(count)
        if error is None:
            return [0.0] * count
        raise error

    made.sampler.take = take
    return made


def named(made: list[Candidate], label: str) -> Candidate:
    return next(target for target in made if target.label == label)


NO_ROOM = gpuopt.DeviceMemoryError("out of resources")


@pytest.mark.parametrize(
    ("label", "error", "status", "reason"),
    [
        ("cached", NO_ROOM, "runtime", "while it was timed: out of resources"),
        ("cached", None, "runtime", "while it was timed: no time at all"),
        ("M @ x", MemoryError("no room"), "runtime", "while it was timed: no room"),
        ("SciPy", RuntimeError("cudaErrorMemoryAllocation"), "runtime", "while it was timed: cudaError"),
    ],
)
def test_what_fails_in_a_block_is_a_row_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, label: str, error: Exception | None, status: str, reason: str
) -> None:
    made = targets()
    failing(named(made, label), 5, error)
    found = summaries(compare(made, monkeypatch))
    assert found[label]["status"] == status
    assert found[label]["reason"].startswith(reason)
    assert {row["status"] for name, row in found.items() if name != label} == {"ok"}
    assert {row["blocks"] for name, row in found.items() if name != label} == {10}


def test_without_ceilings_there_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    made, recorder = targets(), Recorder(None)
    failing(named(made, "read"), 5, NO_ROOM)
    found = summaries(compare(made, monkeypatch, recorder))
    assert found["basic"]["blocks"] == 10
    assert found["basic"]["bound_ms"] == pytest.approx(1.0)  # of the blocks before
    assert recorder.notes == ["ceiling read failed while it was timed: out of resources"]
    bare = summaries(compare([t for t in targets() if t.role != "ceiling"], monkeypatch))
    assert (bare["basic"]["status"], bare["basic"]["pct_bound"]) == ("ok", None)


def test_a_failed_baseline_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    made, recorder = targets(), Recorder(None)
    failing(named(made, "basic"), 3 * 2 * 3, NO_ROOM)
    found = summaries(compare(made, monkeypatch, recorder))
    assert found["basic"]["status"] == "runtime"
    assert found["cached"]["blocks"] == 3
    assert "the comparison ended: its baseline basic failed" in recorder.notes[0]


def test_a_bug_of_ours_is_none_of_a_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    made = targets()
    failing(named(made, "cached"), 5, ZeroDivisionError("ours"))
    with pytest.raises(ZeroDivisionError):
        compare(made, monkeypatch)


def test_what_fails_after_timing_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    made, recorder = targets(), Recorder(None)

    def raising(error: Exception) -> Callable[[], None]:
        def check() -> None:
            raise error

        return check

    named(made, "cached").check = raising(gpuopt.MismatchError("3 elements are off"))
    named(made, "basic").check = raising(NO_ROOM)
    found = summaries(compare(made, monkeypatch, recorder))
    assert (found["cached"]["status"], found["basic"]["status"]) == ("wrong", "runtime")
    assert found["cached"]["reason"] == "after timing: 3 elements are off"
    assert recorder.notes == ["all ratios are to basic, which failed after timing"]


# ---------------------------------------------------------------- intervals, and when to stop


def test_an_interrupted_comparison_has_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(None)
    take = Comparison.block

    def until_the_third(self: Comparison, number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt
        take(self, number)

    monkeypatch.setattr(Comparison, "block", until_the_third)
    with pytest.raises(KeyboardInterrupt):
        compare(targets(), monkeypatch, recorder)
    found = summaries(recorder.rows)
    assert found["cached"]["ratio"] == pytest.approx(0.625)
    for key in ("ci_lo_ms", "ci_hi_ms", "ratio_lo", "ratio_hi", "pct_lo", "pct_hi", "verdict"):
        assert found["cached"][key] is None, key
    assert "unconverged" not in found["cached"]["flags"]
    study = Study(recorder.rows)
    assert {row["variant"] for row in study.unconfirmed} == {"basic", "cached", "uncounted", "M @ x", "SciPy"}
    assert "not compared to the end: basic" in study.explain(120)


def test_a_batch_divides_the_clocks_step(monkeypatch: pytest.MonkeyPatch) -> None:
    made = targets()
    named(made, "cached").sampler.step_ns = named(made, "basic").sampler.step_ns = 1e6
    named(made, "cached").sampler.batch_n = 100
    found = summaries(compare(made, monkeypatch))
    assert found["basic"]["ci_hi_ms"] - found["basic"]["median_ms"] == pytest.approx(0.5)
    assert found["cached"]["ci_hi_ms"] - found["cached"]["median_ms"] == pytest.approx(0.005)
    assert found["SciPy"]["ci_hi_ms"] == found["SciPy"]["median_ms"]
    assert (found["basic"]["timer_ns"], found["SciPy"]["timer_ns"]) == (1e6, None)


SIX_OR_TEN = dataclasses.replace(PROTOCOLS["quick"], blocks=(6, 10), target=0.01)


def noisy(made: Candidate, share: float) -> Candidate:
    """Every other visit takes longer by this share."""
    visits, good = itertools.count(), made.sampler.take

    def take(count: int) -> list[float]:
        slow = next(visits) // 2 % 2  # a visit is a discarded run and its samples
        return [time * (1 + share * slow) for time in good(count)]

    made.sampler.take = take
    return made


@pytest.mark.parametrize(
    ("label", "share", "blocks", "flagged"),
    [
        ("SciPy", 0.5, 6, {"SciPy"}),
        ("SciPy", 0.03, 6, set()),
        ("cached", 0.5, 10, {"cached"}),
        ("M @ x", 0.03, 10, {"M @ x"}),
    ],
)
def test_variants_and_calls_decide_when_to_stop(
    monkeypatch: pytest.MonkeyPatch, label: str, share: float, blocks: int, flagged: set[str]
) -> None:
    made = [target for target in targets() if target.label != "uncounted"]
    noisy(named(made, label), share)
    monkeypatch.setattr(comparison.statistics, "blocks_for", lambda comparisons: 6)
    found = summaries(compare(made, monkeypatch, protocol=SIX_OR_TEN))
    assert {row["blocks"] for row in found.values()} == {blocks}
    assert {name for name, row in found.items() if "unconverged" in row["flags"]} == flagged


def test_another_baseline_measures_its_own_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    compare(targets(), monkeypatch, Recorder(path))
    preset_elsewhere = targets()
    named(preset_elsewhere, "basic").fields["preset"] = None
    named(preset_elsewhere, "cached").fields["preset"] = "paper:cached"
    run = compare(preset_elsewhere, monkeypatch, recorder := Recorder(path))
    found = summaries(run)
    assert found["basic"]["ratio"] == pytest.approx(1.6)
    assert found["cached"]["ratio"] == pytest.approx(1.0)
    assert {row["baseline"] for row in recorder.rows} == {"cached"}


def test_what_was_taken_over_is_told_as_its_blocks_found_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The batches, the clock's step and the errors of a later sitting that takes no block are not told."""

    def of_sitting(number: int) -> dict[str, Row]:
        made = [target("basic", "variant", 2.0, max_abs=0.5 * number, tol=1.0), target("cached", "variant", 1.0)]
        for each in made:
            each.sampler.batch_n, each.sampler.step_ns = 100 + number, 10.0 * number
        return summaries(compare(made, monkeypatch, Recorder(tmp_path / "rows.jsonl")))

    first, second = of_sitting(1), of_sitting(2)
    told = ("batch_n", "timer_ns", "max_abs", "tol", "median_ms", "ci_lo_ms", "ci_hi_ms")
    assert [first["basic"][name] for name in told[:4]] == [101, 10.0, 0.5, 1.0]
    for label, row in first.items():
        assert [second[label][name] for name in told] == [row[name] for name in told]
