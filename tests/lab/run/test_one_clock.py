"""One clock a comparison, a clone of the baseline, buffers that move, and how many blocks are taken."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gpuopt
from gpuopt import Configuration, lab, problems
from gpuopt.lab.rows import visits
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import KEY_FIELDS, Row
from gpuopt.lab.run import blocks as comparison
from gpuopt.lab.run import clocks
from gpuopt.lab.run.blocks import Comparison
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing.fields import Clock
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.lab.timing.samplers import Sampler
from gpuopt.problem import own_inputs
from gpuopt.progress import Bar

GAP_MS, HOST_MS = 0.005, 1.0  # beside each run in a batch; around a run by the host's clock


class Plan:
    """A plan that takes so long, with what it was asked for."""

    def __init__(self, time_ms: float, moves: bool = True) -> None:
        self.time_ms, self.moves = time_ms, moves
        self.pads: list[int] = []
        self.taken: list[int] = []

    def relocate(self, pad_bytes: int) -> bool:
        self.pads.append(pad_bytes)
        self.taken.append(0)
        return self.moves

    def by_clock(self, clock: Clock) -> Sampler:
        beside = {"event": 0.0, "batch": GAP_MS, "wall": HOST_MS}[clock]

        def take(count: int) -> list[float]:
            self.taken.append(count)
            return [self.time_ms + beside] * count

        return Sampler(take, clock, 20 if clock == "batch" else 1)


def timed(label: str, time_ms: float, role: Any = "variant", clock: Clock = "event", moves: bool = True) -> Candidate:
    plan = Plan(time_ms, moves)
    row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label, "clock": clock}
    row |= {"sizes": {"bytes": 1}} if role == "ceiling" else {}
    made = Candidate(label, role, row, plan.by_clock(clock), lambda: None, {"bytes": {"dram": 1e6}})
    made.prepared, made.by_clock = plan, plan.by_clock  # type: ignore[assignment]
    return made


def by_host(label: str, time_ms: float, role: Any = "call") -> Candidate:
    row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label, "clock": "wall"}
    return Candidate(label, role, row, Sampler(lambda count: [time_ms] * count, "wall"), lambda: None)


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    monkeypatch.setattr(comparison, "device_state", lambda device: {"throttle": None})
    monkeypatch.setattr(comparison, "codes_of", lambda device, plans: {})

    def run(made: list[Candidate], recorder: Recorder | None = None, protocol: str = "quick") -> Recorder:
        recorder = recorder or Recorder(None)
        Comparison(made, "dram", None, PROTOCOLS[protocol], recorder, PhaseTimer(), 1).run(Bar(False, 0))  # type: ignore[arg-type]
        return recorder

    return run


def summaries(recorder: Recorder) -> dict[tuple[str | None, str | None], Row]:
    return {(row["role"], row["variant"]): row for row in recorder.rows if row["kind"] == "summary"}


# ---------------------------------------------------------------- one clock


@pytest.mark.parametrize(
    ("times_ms", "clock"), [((0.06, 0.2), "event"), ((0.06, 0.045), "batch"), ((0.045, 9.0), "batch")]
)
def test_all_that_the_device_times_gets_one_clock(
    compare: Callable[..., Recorder], times_ms: tuple[float, float], clock: str
) -> None:
    made = [timed("one", times_ms[0]), timed("other", times_ms[1], clock="batch"), timed("one", times_ms[0], "clone")]
    made += [timed("read", 1.0, "ceiling"), timed("launch", 0.002, "overhead", "batch"), timed("CuPy", 0.3, "peer")]
    made[4].by_clock = None  # a launch is the period of runs queued back to back, whatever times the others
    found = summaries(compare(made))
    assert {row["clock"] for (role, _), row in found.items() if role != "overhead"} == {clock}
    assert found["overhead", "launch"]["clock"] == "batch"
    assert (found["overhead", "launch"]["ratio"] is None) == (clock == "event")
    assert found["variant", "other"]["ratio"] == pytest.approx(
        (times_ms[1] + GAP_MS * (clock == "batch")) / (times_ms[0] + GAP_MS * (clock == "batch"))
    )


def test_a_comparison_that_goes_on_keeps_the_clock_of_its_blocks(
    compare: Callable[..., Recorder], tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"

    def made(time_ms: float) -> list[Candidate]:
        return [timed("one", time_ms), timed("other", 0.2), timed("one", time_ms, "clone")]

    first = compare(made(0.051), Recorder(path))
    again = compare(made(0.049), Recorder(path))  # another day, on the other side of the limit
    for recorder in (first, again):
        assert {row["clock"] for row in recorder.rows} == {"event"}
    assert [row["time_utc"] for row in again.rows if row["kind"] == "block"] == [
        row["time_utc"] for row in first.rows if row["kind"] == "block"
    ]


def test_what_the_host_times_is_held_against_the_baseline_by_the_hosts_clock(compare: Callable[..., Recorder]) -> None:
    made = [timed("one", 2.0), timed("other", 1.0), by_host("A @ x", 6.0), by_host("SciPy", 12.0, "peer")]
    recorder = compare(made)
    found = summaries(recorder)
    assert found["call", "A @ x"]["ratio"] == pytest.approx(6.0 / (2.0 + HOST_MS))  # not 6 / 2
    assert found["peer", "SciPy"]["verdict"] == "SLOW"
    assert found["variant", "other"]["ratio"] == pytest.approx(0.5)
    sentinels = [row for row in recorder.rows if row["role"] == "sentinel" and row["block"] == 0]
    assert [row["clock"] for row in sentinels] == ["event", "wall"] * 2
    assert ("sentinel", "one") not in found


def test_without_the_baseline_by_the_hosts_clock_there_is_no_ratio(compare: Callable[..., Recorder]) -> None:
    base = timed("one", 2.0)
    base.by_clock = None
    found = summaries(compare([base, by_host("A @ x", 6.0)]))["call", "A @ x"]
    assert (found["ratio"], found["ratio_lo"], found["verdict"], found["blocks"]) == (None, None, None, 10)
    assert found["median_ms"] == pytest.approx(6.0)


def test_what_fails_before_timing_is_a_row(compare: Callable[..., Recorder]) -> None:
    bad = timed("bad", 1.0)

    def no_clock(clock: Clock) -> Sampler:
        raise gpuopt.DeviceMemoryError("no room")

    bad.by_clock = no_clock
    found = summaries(compare([timed("one", 0.02), bad, timed("other", 0.03)]))
    assert (found["variant", "bad"]["status"], found["variant", "bad"]["reason"]) == (
        "runtime",
        "before timing: no room",
    )
    assert found["variant", "other"]["clock"] == "batch"


@pytest.mark.whole
def test_a_search_compares_times_of_one_clock(
    any_device: gpuopt.Device, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each configuration by itself would take the clock that the moment suggests."""
    monkeypatch.setitem(PROTOCOLS, brief, dataclasses.replace(PROTOCOLS[brief], all_levels=True, target=9.0))
    turns: Iterator[Clock] = itertools.cycle(("batch", "event"))
    monkeypatch.setattr(clocks, "alone", lambda by_clock, kept=None: by_clock(kept or next(turns)))
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    study = lab.sweep(problem, ["basic", "padded"], protocol=brief, device=any_device, peers=(), calls=False)
    searched = [row for row in study.rows if row["kind"] == "search" and row["status"] == "ok"]
    assert len(searched) > 4
    assert {row["clock"] for row in searched} == {"batch"}


# ---------------------------------------------------------------- the clone


def test_the_band_is_the_clones(compare: Callable[..., Recorder]) -> None:
    """Its buffers lie elsewhere: with the baseline's own, the noise would be 0."""
    recorder = compare([timed("one", 2.0), timed("other", 1.9), timed("one", 2.2, "clone")])
    found = summaries(recorder)
    assert found["clone", "one"]["ratio"] == pytest.approx(1.1)
    assert found["clone", "one"]["verdict"] is None
    assert found["variant", "other"]["verdict"] == "AMBIGUOUS"  # 5 % beside a noise of 10 %
    study = lab.Study(recorder.rows)
    assert study.groups()[0].band == pytest.approx(0.1)
    assert [row["variant"] for row in study.summary] == ["one", "other"]
    ids = [row["row_id"] for row in recorder.rows]
    assert len(set(ids)) == len(ids)


def test_blocks_without_a_clone_are_taken_again(compare: Callable[..., Recorder], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    compare([timed("one", 2.0), timed("other", 1.9)], Recorder(path))
    blocks = [row for row in compare([timed("one", 2.0), timed("other", 1.9), timed("one", 2.0, "clone")],
                                     Recorder(path)).rows if row["kind"] == "block"]  # fmt: skip
    assert {row["block"] for row in blocks if row["role"] == "clone"} == set(range(10))


def test_a_sweep_clones_its_baseline(any_device: gpuopt.Device, brief: str, tmp_path: Path) -> None:
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    study = lab.sweep(
        problem, ["basic", "padded"], protocol=brief, device=any_device, peers=(), store=tmp_path / "rows"
    )
    clones = [row for row in study.rows if row["role"] == "clone"]
    assert not any("placement" in note or "could be made" in note for note in study.notes)
    assert {row["configuration"] for row in clones} == {study.summary[0]["configuration"]}
    assert [row["block"] for row in clones if row["kind"] == "block"] == list(range(10))
    assert len({row["clock"] for row in study.rows if row["role"] in ("variant", "clone", "ceiling")}) == 1
    for row in (row for row in study.rows if row["kind"] == "block" and row["role"] != "overhead"):
        assert row["at_s"]
        assert row["ratio"] > 0
    calls = [row for row in study.rows if row["role"] == "call" and row["kind"] == "summary"]
    assert calls
    assert all(row["ratio_lo"] for row in calls)
    again = lab.sweep(
        problem, ["basic", "padded"], protocol=brief, device=any_device, peers=(), store=tmp_path / "rows"
    )
    assert [row["ratio"] for row in again.summary] == [row["ratio"] for row in study.summary]


def test_a_clone_has_inputs_of_its_own(any_device: gpuopt.Device) -> None:
    problem = problems.spmv_grid(48, 32, radius=2, seed=1)
    basic = Configuration("basic")
    first, second = (problem.prepare(basic, any_device).prepared for _ in range(2))
    with own_inputs():
        third = problem.prepare(basic, any_device).prepared
    assert first.source is not None
    assert second.source is not None
    assert third.source is not None
    assert first.source.shares_memory(second.source)
    assert not first.source.shares_memory(third.source)
    assert problem.prepare(basic, any_device).prepared.source.shares_memory(first.source)  # type: ignore[union-attr]


# ---------------------------------------------------------------- placement


def test_buffers_move_before_each_block(compare: Callable[..., Recorder]) -> None:
    made = [timed("one", 2.0), timed("other", 1.0), timed("fixed", 1.0, moves=False)]
    recorder = compare(made)
    pads = [plan.prepared.pads for plan in made]  # type: ignore[union-attr]
    assert [len(set(each)) for each in pads] == [10, 10, 10]
    assert len(set(pads[0] + pads[1])) == 20
    assert min(map(min, pads)) >= 256
    assert recorder.notes == ["placement in memory was not varied for fixed: intervals do not hold its effect"]
    other, fixed = made[1].prepared.taken, made[2].prepared.taken  # type: ignore[union-attr]
    first = other.index(0)
    assert other[first : first + 5] == [0, 1, 1, 30, 0]  # moved, two runs that do not count, a visit, moved again
    first = fixed.index(0)
    assert fixed[first : first + 4] == [0, 1, 30, 0]
    same = [timed("one", 2.0), timed("other", 1.0), timed("fixed", 1.0, moves=False)]
    compare(same)
    assert [plan.prepared.pads for plan in same] == pads  # type: ignore[union-attr]


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize(("variants", "blocks"), [(2, 10), (26, 10), (27, 16)])
def test_a_quick_comparison_takes_the_blocks_that_its_verdicts_need(
    compare: Callable[..., Recorder], variants: int, blocks: int
) -> None:
    """Beyond 25 comparisons 10 blocks admit no verdict at all."""
    found = summaries(compare([timed(f"v{i}", 2.0 - 0.05 * i) for i in range(variants)]))
    assert {row["blocks"] for row in found.values()} == {blocks}
    assert {row["verdict"] for (_, name), row in found.items() if name != "v0"} == {"FAST"}


def test_ratios_are_interpolated_between_the_sentinels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device gets slower all the time; visits of one kernel soon after a sentinel must not look faster."""
    monkeypatch.setattr(comparison, "device_state", lambda device: {"throttle": None})
    now = [0.0]

    def take(count: int) -> list[float]:
        times = []
        for _ in range(count):
            times.append(1.02 ** now[0])
            now[0] += times[-1] * 0.1
        return times

    def made(label: str) -> Candidate:
        row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label}
        return Candidate(label, "variant", row, Sampler(take, "event", 100), lambda: None)

    monkeypatch.setattr(Comparison, "now", staticmethod(lambda: now[0]))
    phases = PhaseTimer()
    phases.start = 0.0
    recorder = Recorder(None)
    protocol = dataclasses.replace(PROTOCOLS["quick"], visit_s=0.3)
    run = Comparison([made(name) for name in "abcdefg"], "dram", None, protocol, recorder, phases, 1)  # type: ignore[arg-type]
    run.run(Bar(False, 0))
    own = [row for row in recorder.rows if row["kind"] == "block" and row["role"] == "variant"]
    assert all(row["ratio"] == pytest.approx(1.0, abs=2e-3) for row in own)
    row = own[0]
    around = visits.enclosing(row, [r for r in recorder.rows if r["role"] == "sentinel" and r["block"] == row["block"]])
    assert around is not None
    unweighted = row["median_ms"] / (around[0]["median_ms"] * around[1]["median_ms"]) ** 0.5  # type: ignore[operator]
    assert max(abs(r["ratio"] - 1) for r in own) < 0.002  # type: ignore[operator]
    assert unweighted != pytest.approx(row["ratio"], abs=2e-3)
