"""Surveys in rounds: each question once a round, spread over the whole sitting; answers are medians over rounds."""

from __future__ import annotations

import gc
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, lab
from gpuopt.audit import audit
from gpuopt.lab.device import conditions
from gpuopt.lab.rows.facts import NO_STATE
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run import rounds
from gpuopt.lab.run.survey import SurveyRun
from gpuopt.lab.timing import samplers
from gpuopt.lab.timing.samplers import VisitSamples
from gpuopt.workloads.microbench import ceilings
from gpuopt.workloads.microbench.points import Point, TransferPoint

POINTS = [
    Point(Configuration("read_chunks", WIDTH=8), "float32", 1 << 18),
    Point(Configuration("copy"), "float32", 1 << 18),
    Point(Configuration("read_chunks", WIDTH=4), "float32", 1 << 18),
    Point(Configuration("fma"), "float32", 16384, trips=4),
    TransferPoint("upload", True, 1 << 16),
]


def test_every_question_is_asked_once_a_round(any_device: gpuopt.Device, tmp_path: Path) -> None:
    study = rounds.survey_in_rounds(POINTS, device=any_device, store=tmp_path / "rows.jsonl")
    blocks = [row for row in study.rows if row["kind"] == "block"]
    asked = {number: [str(row["key"]) for row in blocks if row["block"] == number] for number in range(rounds.ROUNDS)}
    assert len(blocks) == rounds.ROUNDS * len(POINTS)
    assert all(sorted(keys) == sorted(asked[0]) for keys in asked.values())
    assert len(set(map(tuple, asked.values()))) > 1  # the order differs
    assert len(study.points) == len(POINTS)
    for row in study.points:
        own = [block["median_ms"] for block in blocks if block["key"] == row["key"]]
        assert row["samples_ms"] == own
        assert row["median_ms"] == pytest.approx(float(np.median(own)))
        assert (row["ci_lo_ms"], row["ci_hi_ms"]) == (min(own), max(own))
        assert row["blocks"] == rounds.ROUNDS
        assert row["max_abs"] is not None or row["family"] == "transfer"
    assert len(lab.Store(tmp_path / "rows.jsonl").latest()) == len(study.rows)


def test_a_slow_drift_is_in_every_ceilings_interval(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine becomes slower all the time, by a third over the sitting. Asked one after the other, the first one
    was high and the last low, each with an interval of nothing."""
    clock = itertools.count()
    total = len(POINTS) * rounds.ROUNDS

    def drifting(*_: Any) -> VisitSamples:
        return VisitSamples([1.0 + next(clock) / (3 * total)] * 3)

    monkeypatch.setattr(samplers, "visit", drifting)
    monkeypatch.setattr(samplers, "search_samples", drifting)
    study = rounds.survey_in_rounds(POINTS, device=any_device)
    middle = 1.0 + 1 / 6
    for row in study.points:
        assert row["ci_lo_ms"] < middle < row["ci_hi_ms"], row["configuration"]
        assert row["median_ms"] == pytest.approx(middle, rel=0.06)


def test_an_audit_finds_every_answer_to_follow(any_device: gpuopt.Device, tmp_path: Path) -> None:
    """Answers stand over seconds: their slope is over when each round was, and their flags are those of medians."""
    path = tmp_path / "rows.jsonl"
    study = rounds.survey_in_rounds(POINTS[:2], rounds=10, device=any_device, store=path)
    for row in study.points:
        assert row["at_s"] is not None
        assert len(row["at_s"]) == 10
        assert row["drift_pct_s"] is not None
    report = audit(path)
    assert report.ok, report.to_text()


def test_the_maximum_is_over_medians_of_rounds() -> None:
    """A kernel that was fast in one round is no ceiling."""
    fields = {"kind": "point", "status": "ok", "family": "read", "dtype": "float32", "flags": [], "sizes": {"bytes": 1}}
    lucky = [1.0, 1.0, 0.2, 1.0, 1.0, 1.0]
    rows: list[Any] = []
    for name, samples in (("lucky", lucky), ("steady", [0.9] * 6)):
        time = samplers.statistics.summarise(samples)
        made = gpuopt.lab.rows.schema.new_row(**fields, **time, configuration=name, gb_s=1 / time["median_ms"])  # type: ignore[arg-type]
        rows.append(made)
    found = ceilings.of_rows(rows).ceilings["dram.read"]
    assert found.configuration == "steady float32"
    assert found.apart == 0.0


def test_the_flags_and_the_state_of_an_answer_are_those_of_most_rounds(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A device that holds its clocks down once it is warm, on a host that is busy from then on."""
    warm, visits = [], []
    again, visit = rounds._Asked.again, samplers.visit

    def later(self: Any, run: SurveyRun) -> Any:
        warm.append(True)
        return again(self, run)

    def counted(*given: Any) -> VisitSamples:
        visits.append(True)
        return visit(*given)

    def state(*_: Any) -> Any:
        return NO_STATE | ({"throttle": "thermal", "core_mhz": 500} if warm else {"throttle": "none", "core_mhz": 900})

    monkeypatch.setattr(rounds._Asked, "again", later)
    monkeypatch.setattr(samplers, "visit", counted)
    monkeypatch.setattr(conditions, "device_state", state)
    monkeypatch.setattr(conditions, "clocks_now", lambda *_: None)
    monkeypatch.setattr(conditions.Sampler, "note", lambda _: {"others_load": 2.0 if warm else 0.0})
    study = rounds.survey_in_rounds(POINTS[:1], device=any_device, store=tmp_path / "rows.jsonl")
    (row,) = study.points
    assert "throttled" in row["flags"]
    assert (row["throttle"], row["core_mhz"], row["others_load"]) == ("thermal", 500, 2.0)
    assert len(visits) == 2 * (rounds.ROUNDS - 1)  # a throttled visit is taken again, once
    report = audit(tmp_path / "rows.jsonl")
    assert report.ok, report.to_text()


def failing_after(when: int, good: Callable[..., Any]) -> Callable[..., Any]:
    calls = itertools.count()

    def plan(*given: Any, **named: Any) -> Any:
        if next(calls) >= when:
            raise gpuopt.DeviceMemoryError("out of resources")
        return good(*given, **named)

    return plan


def test_what_fails_in_a_later_round_is_a_row(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Point, "plan", failing_after(2, Point.plan))
    study = rounds.survey_in_rounds(POINTS[:1], device=any_device)
    (row,) = study.points
    assert (row["status"], row["reason"]) == ("runtime", "out of resources")
    assert sum(row["kind"] == "block" for row in study.rows) == 3


def test_an_interrupt_ends_it_with_what_was_found(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Point, "plan", interrupt)
    study = rounds.survey_in_rounds(POINTS[:2], device=any_device)
    assert study.interrupted
    assert len(study.points) == 2


def test_an_interrupt_while_a_later_visit_is_stored_loses_no_answer(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = Recorder.keep

    def interrupted(self: Recorder, row: Row) -> Row:
        if row["kind"] == "block" and row["block"] == 1:
            raise KeyboardInterrupt
        return keep(self, row)

    monkeypatch.setattr(Recorder, "keep", interrupted)
    study = rounds.survey_in_rounds(POINTS[:2], device=any_device)
    assert study.interrupted
    assert [row["n"] for row in study.points] == [1, 1]
    assert study.notes[-1] == "interrupted: what was finished is here"


def test_questions_about_equal_data_follow_each_other() -> None:
    asked = [rounds._Asked(point) for point in POINTS]
    for seed in range(5):
        order = [one.point for one in rounds.shuffled(asked, random.Random(seed))]
        places = sorted(order.index(point) for point in POINTS[:3])
        assert places == list(range(places[0], places[0] + 3))


def test_no_data_are_held_between_visits(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times a few buffers: what one visit took is free again at the next, whatever the number of questions."""
    most: list[int] = []
    taken = SurveyRun.taken

    def watched(self: SurveyRun, candidate: Any) -> Any:
        gc.collect()
        most.append(any_device.allocated_bytes)
        return taken(self, candidate)

    monkeypatch.setattr(SurveyRun, "taken", watched)
    before = any_device.allocated_bytes
    many = [Point(Configuration("copy", WIDTH=width), "float32", 1 << 20) for width in (1, 2, 4, 8)]
    rounds.survey_in_rounds([*many, *POINTS], device=any_device, rounds=2)
    assert max(most) - before <= 12 << 20
