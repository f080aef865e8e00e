"""Comparisons on a made-up busy machine; sweeps that go on with what an earlier run or another environment measured."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpuopt
from gpuopt import lab, problems
from gpuopt.lab.device import conditions as sampling
from gpuopt.lab.device import source
from gpuopt.lab.report import Study
from gpuopt.lab.rows import conditions, refusals
from gpuopt.lab.rows.facts import NO_STATE, DeviceState
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import KEY_FIELDS, Row
from gpuopt.lab.run import blocks as comparison
from gpuopt.lab.run.blocks import Comparison
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing.protocol import PROTOCOLS, PhaseTimer
from gpuopt.lab.timing.samplers import Sampler
from gpuopt.problem import Problem
from gpuopt.progress import Bar

refusal = refusals.refusal  # before a fixture takes the limits away
CARD: Any = SimpleNamespace(timer_ns=1.0, type="cpu")


def target(label: str, time_ms: float) -> Candidate:
    row: Row = dict.fromkeys(KEY_FIELDS) | {"variant": label, "configuration": label, "workload": "spmv"}
    row |= {"preset": "paper:basic" if label == "basic" else None, "device_type": "cpu"}
    return Candidate(label, "variant", row, Sampler(lambda count: [time_ms] * count, "event"), lambda: None)


def compared(
    monkeypatch: pytest.MonkeyPatch, load: float, state: Callable[[], DeviceState] = lambda: NO_STATE
) -> Study:
    monkeypatch.setattr(refusals, "refusal", refusal)
    monkeypatch.setattr(comparison, "device_state", lambda device: state())
    busy: DeviceState = {"load1": 9.0, "others_load": load, "steal_pct": 0.0}
    monkeypatch.setattr(sampling.Sampler, "note", lambda self: busy)
    recorder = Recorder(None)
    made = [target("basic", 2.0), target("twice as fast", 1.0)]
    Comparison(made, "dram", CARD, PROTOCOLS["quick"], recorder, PhaseTimer(), 1).run(Bar(False, 0))
    return Study(recorder.rows, notes=recorder.notes)


def test_verdicts_hold_on_a_quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = compared(monkeypatch, 0.1).summary[1]
    assert (fast["verdict"], fast["refused"], fast["others_load"], fast["load1"]) == ("FAST", None, 0.1, 9.0)


def test_verdicts_are_refused_on_a_busy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    study = compared(monkeypatch, 3.0)
    basic, fast = study.summary
    assert (fast["verdict"], basic["verdict"]) == ("AMBIGUOUS", None)
    assert fast["ratio"] == pytest.approx(0.5)
    assert fast["refused"] == "other programs wanted 3 times the processor's cores"
    assert study.speedup("twice as fast", "basic").verdict == "AMBIGUOUS"
    text = study.to_text(300)
    assert f"NO VERDICTS: {fast['refused']}" in text
    assert "shares of bounds are too low here" in study.explain(300)
    assert "faster than" not in " ".join(study.sentences())


def test_verdicts_of_an_unfinished_study_are_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a killed process, or of one that still runs, there are blocks alone."""
    quiet, busy = (
        Study([row for row in compared(monkeypatch, load).rows if row["kind"] != "summary"]) for load in (0.1, 3.0)
    )
    assert quiet.speedup("twice as fast", "basic").verdict == "FAST"
    assert busy.speedup("twice as fast", "basic").verdict == "AMBIGUOUS"
    assert {row["refused"] for row in busy.summary} == {"other programs wanted 3 times the processor's cores"}
    assert "NO VERDICTS" in busy.to_text(300)


def test_a_throttled_visit_is_taken_again_and_then_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def state() -> DeviceState:
        """Every third look finds the clocks held down, so that each second visit is good when it is repeated."""
        asked.append(1)
        held: DeviceState = {"throttle": "none" if len(asked) % 3 else "hw_thermal"}
        return NO_STATE | held

    study = compared(monkeypatch, 0.0, state)
    assert not any("throttled" in row["flags"] for row in study.rows)
    always: DeviceState = {"throttle": "sw_power_cap"}
    study = compared(monkeypatch, 0.0, lambda: NO_STATE | always)
    assert all(row["flags"] == ["throttled"] for row in study.rows if row["kind"] == "block")
    assert "throttled in" in conditions.lines(study)[1]


# ---------------------------------------------------------------- earlier runs


@pytest.fixture
def problem() -> Problem:
    return problems.spmv_grid(96, 64, radius=2, seed=1)


@pytest.fixture
def again(any_device: gpuopt.Device, problem: Problem, brief: str, tmp_path: Path) -> Callable[[], tuple[Study, int]]:
    """Sweeps two variants into one file; with how many blocks it measured."""

    def run() -> tuple[Study, int]:
        measured: list[int] = []
        take = Comparison.block

        def block(self: Comparison, number: int) -> None:
            measured.append(number)
            take(self, number)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Comparison, "block", block)
            how: Any = {"protocol": brief, "device": any_device, "peers": (), "calls": False}
            study = lab.sweep(problem, ["basic", "padded"], store=tmp_path / "rows.jsonl", **how)
        return study, len(measured)

    return run


def test_a_second_run_says_what_it_did_not_measure(again: Callable[[], tuple[Study, int]]) -> None:
    first, blocks = again()
    assert blocks == 10
    assert "blocks from" not in first.to_text(200)
    second, blocks = again()
    assert blocks == 0
    text = " ".join((second.to_text(200) + second.explain(200)).split())
    assert f"10 of 10 blocks from {first.rows[0]['time_utc'][:10]}" in text
    assert "an earlier run measured them in this environment" in text
    assert "measured in this run" not in text
    summaries = [[row["time_utc"] for row in study.rows if row["kind"] == "summary"] for study in (first, second)]
    assert max(summaries[1]) < second.problem_info["began_utc"]  # the summary is as old as its blocks


def test_another_environment_begins_anew(
    again: Callable[[], tuple[Study, int]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    again()
    monkeypatch.setenv("GPUOPT_KERNEL_DIR", "")  # how gpuopt itself is steered is in the rows
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))  # nor is a load an environment
    assert again()[1] == 0
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    study, blocks = again()
    assert blocks == 10
    text = " ".join((study.to_text(200) + study.explain(200)).split())
    assert "are of another environment (variables.OMP_NUM_THREADS unknown -> 1)" in text
    assert "10 of 10 blocks" not in text
    assert len({row["env_hash"] for row in study.rows if row["kind"] == "block"}) == 1
    monkeypatch.setattr(source, "code", lambda: "edited")
    assert again()[1] == 10
    loaded = Study.load(tmp_path / "rows.jsonl")
    (group,) = loaded.groups()
    assert len({row["env_hash"] for row in group.blocks}) == 1


def test_blocks_left_of_a_longer_comparison_elsewhere_count_in_no_ratio() -> None:
    def row(kind: str, variant: str, time_ms: float, env_hash: str, **others: Any) -> Row:
        alike = {"status": "ok", "role": "variant", "baseline": "a", "configuration": variant, "method": "rank"}
        return {**alike, "kind": kind, "variant": variant, "median_ms": time_ms, "env_hash": env_hash, **others}

    rows: list[Row] = []
    for number in range(20):  # the first ten were measured again in another environment
        place, slow = ("new", 1.0) if number < 10 else ("old", 3.0)
        rows += [row("block", name, slow * time, place, block=number, ratio=slow * time) for name, time in PAIR]
    rows += [row("summary", name, time, "new", blocks=10) for name, time in PAIR]
    study = Study(rows)
    assert study.speedup("c", "b").blocks == 10
    assert study.speedup("c", "b").mid == pytest.approx(0.5)
    apart = Study(
        [*(r for r in rows if r["variant"] != "c"), *({**r, "env_hash": "old"} for r in rows if r["variant"] == "c")]
    )
    assert apart.speedup("c", "b").verdict is None


PAIR = (("a", 1.0), ("b", 2.0), ("c", 1.0))


def test_the_row_names_unit_and_commit(again: Callable[[], tuple[Study, int]], any_device: gpuopt.Device) -> None:
    study, _ = again()
    assert {row["unit"] for row in study.rows} == {gpuopt.unit.unit_of(any_device)}
    assert {row["commit"] for row in study.rows} == {source.commit()}
    assert source.commit() or not shutil.which("git")
    assert any(row["load1"] is not None for row in study.rows if row["kind"] == "block")


def test_comparisons_of_two_environments_that_did_not_end_have_no_verdict() -> None:
    def blocks(variant: str, ms: float, environment: str) -> list[dict[str, Any]]:
        alike = {"kind": "block", "status": "ok", "role": "variant", "baseline": "a", "configuration": variant}
        own: dict[str, Any] = alike | {"variant": variant, "env_hash": environment, "median_ms": ms}
        return [own | {"block": number, "ratio": ms * (1 + 0.001 * (number % 3))} for number in range(10)]

    together = Study([*blocks("b", 2.0, "e1"), *blocks("c", 1.0, "e1")]).speedup("c", "b")
    assert (together.verdict, together.blocks) == ("FAST", 10)
    apart = Study([*blocks("b", 2.0, "e1"), *blocks("c", 1.0, "e2")]).speedup("c", "b")
    assert (apart.mid, apart.lo, apart.verdict, apart.blocks) == (0.5, None, None, 0)
    continued = Study([*blocks("b", 2.0, "e1"), *blocks("b", 4.0, "e2")[:4], *blocks("c", 1.0, "e1")])
    assert continued.speedup("c", "b").lo == pytest.approx(0.5, rel=0.01)
