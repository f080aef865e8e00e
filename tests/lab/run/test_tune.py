"""What a tuning chooses and stores, and what a plain call uses from then on."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ParameterError, lab, problems, resolution
from gpuopt import configuration as tables
from gpuopt.configuration import Configuration
from gpuopt.lab.run.blocks import Comparison
from gpuopt.lab.run.wanted import Named, pick_finalists
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.lab.timing.samplers import VisitSamples
from made_up_tables import variant
from tuning_bench import DEVICE, HALVED, MATCH, MIRRORED, OTHER, PLAIN, PLAIN_128, Bench


def test_finalists_keep_each_accuracy_but_the_best_few_are_of_the_standard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        variant(("A", range(9), 0), half=True, name="one"),
        variant(("A", range(9), 0), name="two"),
        variant(name="3"),
    ]
    monkeypatch.setattr(tables, "table_of", lambda workload: {row.name: row for row in rows})
    times = {Configuration("one", A=a, HALF=half): 1 + a - 0.9 * half for a in range(9) for half in (0, 1)}
    times |= {Configuration("two", A=a): 1.5 + a for a in range(9)}
    given, failed = Configuration("two", A=8), Configuration("3")
    looked_at = [Named(c, None, c == given) for c in [*times, failed, Configuration("3", A=1)]]
    finalists = {named.configuration for named in pick_finalists("made-up", looked_at, times)}
    standard = {Configuration("one", A=a, HALF=0) for a in range(3)} | {Configuration("two", A=a) for a in range(2)}
    assert finalists == standard | {Configuration("one", A=0, HALF=1), given, failed}


# ---------------------------------------------------------------- choosing, from made-up rows


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_the_fastest_is_stored_and_used(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, PLAIN_128: 1.0}
    tuned = bench.tune()
    assert bench.resolved() == PLAIN_128
    assert tuned.path == bench.path
    (record,) = json.loads(bench.path.read_text())["records"]
    assert record == tuned.records[0]
    assert record["match"] == MATCH
    assert record["driver"] == "7"
    assert record["unit"] == gpuopt.unit.unit_of(DEVICE)
    assert record["evidence"] == str(bench.path.with_name("made-up-made-up-1.jsonl"))
    assert len(record["date"]) == 10
    (told,) = map(str, tuned.choices)
    assert told.startswith("for any input: plain(HALF=0, LOCAL=128), 1.0")
    assert "2.00x [2.00, 2.00] faster than other, 2.0" in told
    assert told in tuned.notes


NO_ENERGY = "nothing has an energy, above the idle device's, that leaves the accuracy alone"


def test_by_energy_the_most_frugal_is_stored_and_not_the_fastest(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, PLAIN_128: 1.0}
    bench.joules = {OTHER: 0.3, PLAIN: 0.2, PLAIN_128: 0.25}
    tuned = bench.tune(objective="energy")
    assert bench.asked["objective"] == "energy"
    assert bench.resolved() == PLAIN
    (record,) = tuned.records
    assert (record["objective"], record.get("gain")) == ("energy", None)
    (told,) = map(str, tuned.choices)
    assert told == (
        "for any input: plain(HALF=0, LOCAL=64), net 200 mJ a run; 1.50 times less than other, net 300 mJ a run, "
        "which a plain call used until now"
    )


@pytest.mark.parametrize(("joules", "stays"), [(0.291, True), (0.28, False)])
def test_what_was_used_stays_unless_another_takes_5_percent_less(bench: Bench, joules: float, stays: bool) -> None:
    bench.times, bench.joules = {OTHER: 2.0, PLAIN: 1.5}, {OTHER: 0.3, PLAIN: joules}
    tuned = bench.tune(objective="energy")
    assert (tuned.choices[0].configuration == OTHER) == stays
    assert ("nothing takes 5 % less" in str(tuned.choices[0])) == stays


def test_what_has_no_energy_is_not_chosen_for_it(bench: Bench) -> None:
    bench.times, bench.joules = {OTHER: 2.0, PLAIN: 1.5}, {OTHER: None, PLAIN: 0.4}
    told = str(bench.tune(objective="energy").choices[0])
    assert "a plain call used other until now, which gave no energy here" in told
    bench.joules = {}
    assert bench.tune(objective="energy").reason == NO_ENERGY


@pytest.mark.parametrize(
    ("joules", "told"),
    [
        ((-0.001, -0.05, -0.06), "an energy that is hardly more than the idle device's is held against no other"),
        ((-0.001, 0.2, 0.1), "an energy that is hardly more than the idle device's is held against no other"),
        ((0.2, -0.05, 0.01), "; 2 others take hardly more power than the idle device, and are not compared"),
        ((0.02, 0.0105, 0.3), "nothing takes 5 % less, and less by more than 1 % of the gross energy"),
    ],
)
def test_by_energy_what_was_used_stays_where_the_idle_power_decides(
    bench: Bench, joules: tuple[float, ...], told: str
) -> None:
    """Net energies of less than 1 % of the gross ones are noise, also where they are below 0."""
    bench.times = {OTHER: 1.0, PLAIN: 1.5, PLAIN_128: 2.0}
    bench.joules = dict(zip(bench.times, joules, strict=True))
    bench.gross = dict.fromkeys(bench.times, 1.0)
    tuned = bench.tune(objective="energy")
    assert bench.resolved() == tuned.choices[0].configuration == OTHER
    assert told in str(tuned.choices[0])


def test_without_an_energy_of_what_was_used_noise_is_not_stored(bench: Bench) -> None:
    bench.times, bench.joules = {OTHER: 2.0, PLAIN: 1.5}, {OTHER: None, PLAIN: -0.4}
    tuned = bench.tune(objective="energy")
    assert (tuned.records, tuned.reason) == ([], NO_ENERGY)


def test_doubts_of_an_energy_stand_beside_it(bench: Bench) -> None:
    bench.times, bench.joules = {OTHER: 2.0, PLAIN: 1.5}, {OTHER: 0.4, PLAIN: 0.2}
    bench.doubts = {PLAIN: "its loops differ by 7.0 %"}
    told = str(bench.tune(objective="energy").choices[0])
    assert "net 200 mJ a run (doubtful: its loops differ by 7.0 %); 2.00 times less than other, net 400 mJ" in told


def test_what_a_plain_call_used_is_measured_too(bench: Bench) -> None:
    bench.times = {OTHER: 1.0}
    tuned = bench.tune()
    assert bench.asked["variants"] == [OTHER, "plain", "other", "mirrored"]
    assert (bench.asked["peers"], bench.asked["calls"]) == ((), False)
    assert "a plain call used it before, too" in str(tuned.choices[0])


NOISE = [0.66, 1.28, 0.9, 1.1, 0.97, 1.0, 0.8, 1.2]


def test_only_what_is_certainly_faster_replaces_what_was_used(bench: Bench) -> None:
    """0.97x [0.66, 1.28] is no gain: what was used stays, for symmetric inputs too."""
    bench.times, bench.noise = {OTHER: 1.0, PLAIN: 0.97, MIRRORED: 0.96}, {PLAIN: NOISE, MIRRORED: NOISE}
    tuned = bench.tune()
    assert bench.resolved() == bench.resolved(symmetric=True) == OTHER
    (choice,) = tuned.choices
    assert (choice.configuration, choice.previous) == (OTHER, OTHER)
    assert "a plain call used it before, too; mirrored is not certified to be faster (ratio of times" in str(choice)
    assert [record["variant"] for record in tuned.records] == ["other"]


def test_where_verdicts_are_refused_what_was_used_stays(bench: Bench) -> None:
    bench.times, bench.refused = {OTHER: 2.0, PLAIN: 1.5, MIRRORED: 1.0}, "other programs wanted 83 % of the cores"
    tuned = bench.tune()
    assert bench.resolved() == bench.resolved(symmetric=True) == OTHER
    told = (
        "mirrored is not certified to be faster (ratio of times 0.500x [0.500, 0.500]): verdicts are refused, for other"
    )
    assert told in str(tuned.choices[0]) in tuned.notes


def test_the_fastest_that_is_certain_replaces_it_and_not_a_faster_doubt(bench: Bench) -> None:
    bench.times, bench.noise = {OTHER: 1.0, PLAIN: 0.45, PLAIN_128: 0.5}, {PLAIN: [factor * 2 for factor in NOISE]}
    bench.noise[PLAIN][0] = 0.1
    (choice,) = bench.tune().choices
    assert choice.configuration == PLAIN_128
    assert choice.ratio is not None
    assert choice.ratio.verdict == "FAST"


def test_of_many_equal_ones_none_looks_faster(bench: Bench) -> None:
    """Eight blocks of eight below 1: alone that would be certain enough; of a hundred, one is expected to."""
    lucky = {Configuration("plain", HALF=0, LOCAL=n): [0.9] * 8 for n in range(100)}
    bench.times, bench.noise = {OTHER: 1.0} | dict.fromkeys(lucky, 0.999), lucky
    assert bench.tune().choices[0].configuration == OTHER


def test_a_record_says_what_it_brought_and_keeps_it(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.0}
    (record,) = bench.tune().records
    assert record["gain"] == {"over": "other", "mid": 2.0, "lo": 2.0, "hi": 2.0}
    bench.times = {OTHER: 2.0, PLAIN: 1.0, PLAIN_128: 1.0}
    (again,) = bench.tune().records
    assert again["variant"] == "plain"
    assert again["gain"] == record["gain"]
    bench.times = {PLAIN: 1.0, OTHER: 0.5}
    (other,) = bench.tune().records
    assert (other["variant"], other["gain"]["over"]) == ("other", str(PLAIN))


def test_altered_accuracy_is_never_chosen(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, HALVED: 0.1}
    bench.tune()
    assert bench.resolved() == PLAIN
    assert bench.resolved(stored="float16") == PLAIN


def test_a_precision_that_the_problem_asks_for_is_chosen_for_that(bench: Bench) -> None:
    bench.problem.input_properties = {"precision": "short"}
    bench.problem.tunable = lambda configuration: configuration == HALVED
    bench.times = {OTHER: 0.1, PLAIN: 0.2, HALVED: 1.0}
    (record,) = bench.tune().records
    assert record["match"] == MATCH | {"precision": "short"}
    assert bench.resolved(precision="short") == HALVED
    assert bench.resolved(precision="native") == bench.resolved() == OTHER


def test_where_no_record_fits_the_problem_says_what_is_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "shipped_records", lambda workload: [])
    bench.times = {OTHER: 2.0, PLAIN: 1.0}
    with pytest.raises(ParameterError, match="no record of made-up fits"):
        bench.tune()
    bench.problem.default_configuration = OTHER
    assert bench.tune().choices[0].previous == OTHER
    assert bench.resolved() == PLAIN


@pytest.mark.parametrize("status", ["wrong", "search"])
def test_only_what_is_right_to_the_end_is_chosen(bench: Bench, status: str) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, PLAIN_128: 0.1}
    bench.status = {PLAIN_128: status}
    bench.tune()
    assert bench.resolved() == PLAIN


def test_variants_for_some_inputs_are_stored_for_those(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, MIRRORED: 1.0}
    tuned = bench.tune()
    assert bench.resolved(symmetric=True) == MIRRORED
    assert bench.resolved(symmetric=False) == bench.resolved() == PLAIN
    assert [record["match"] for record in tuned.records] == [MATCH | {"symmetric": True}, MATCH]
    assert str(tuned.choices[0]).startswith("for symmetric inputs: mirrored, 1.0")
    assert str(tuned.choices[1]).startswith("for any input: plain(HALF=0, LOCAL=64), 1.5")


def test_an_older_record_for_such_inputs_does_not_stand_before_the_winner(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5, MIRRORED: 1.0}
    bench.tune()
    bench.times = {OTHER: 2.0, PLAIN: 1.5, MIRRORED: 1.7}
    tuned = bench.tune()
    assert MIRRORED in bench.asked["variants"]
    assert bench.resolved(symmetric=True) == bench.resolved() == PLAIN
    assert tuned.choices[0].previous == MIRRORED


def test_the_problems_own_traits_limit_its_records(bench: Bench) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5}
    bench.problem.input_properties = {"columns": False}
    bench.tune()
    assert bench.resolved(columns=False) == PLAIN
    assert bench.resolved(columns=True) == bench.resolved() == OTHER
    bench.tune()
    assert PLAIN in bench.asked["variants"]


def test_no_variants_are_refused(bench: Bench) -> None:
    for none in ([], iter(())):
        with pytest.raises(ParameterError, match="variants: none is given"):
            bench.tune(variants=none)


@pytest.mark.parametrize("interrupted", [True, False])
def test_nothing_is_stored_after_an_interrupt_or_where_nothing_ran(bench: Bench, interrupted: bool) -> None:
    bench.times = {OTHER: 2.0, PLAIN: 1.5} if interrupted else {HALVED: 1.0}
    bench.interrupted = interrupted
    tuned = bench.tune()
    assert (tuned.path, tuned.records, tuned.interrupted) == (None, [], interrupted)
    assert not bench.path.exists()
    reason = "the tuning was interrupted" if interrupted else "nothing ran that leaves the accuracy alone"
    assert tuned.reason == reason
    assert f"not stored: {reason}" in tuned.explain()


def test_a_full_disk_costs_no_result(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    bench.times = {OTHER: 2.0, PLAIN: 1.5}
    monkeypatch.setattr(os, "replace", full)
    tuned = bench.tune()
    assert tuned.path is None
    assert "No space left on device" in tuned.reason
    assert [choice.configuration for choice in tuned.choices] == [PLAIN]


# ---------------------------------------------------------------- on a device


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Protocols that take a moment, and a cache of their own."""
    for name in ("quick", "full"):
        short = {"warm_up_s": 0.0, "warm_up_cap_s": 0.0, "search_min_s": 0.0, "search_cap_s": 0.0, "visit_s": 1e-4}
        monkeypatch.setitem(PROTOCOLS, name, dataclasses.replace(PROTOCOLS[name], **short, target=9.0))
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    return tmp_path


PRESET = "basic(LOCAL=256)"  # compared whatever a search found


def made_up_ms(target: Any) -> float:
    """A time that depends on the configuration alone, so that both tunings find the same winner."""
    return 1.0 if target.label == PRESET else 2.0


@pytest.mark.thin(others=0)
def test_a_plain_call_uses_what_was_tuned(device: gpuopt.Device, brief: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visit = Comparison.visit
    monkeypatch.setattr(
        Comparison,
        "visit",
        lambda self, target: dataclasses.replace(visit(self, target), taken=VisitSamples([made_up_ms(target)] * 3)),
    )
    problem = problems.spmv_grid(64, 48, radius=1, seed=1)
    before = gpuopt.DiaMatrix(problem.inputs["A"], device=device).configuration
    tuned = lab.tune(problem, device=device, variants=["basic", "coarse"])
    assert {row["variant"] for row in tuned.rows if row["kind"] == "search"} >= {"basic", "coarse", before.variant}
    assert str(before) in {row["configuration"] for row in tuned.summary}
    assert tuned.path == brief / "tuned" / "spmv.json"
    (row,) = [r for r in tuned.summary if r["configuration"] == str(tuned.choices[0].configuration)]
    assert row["canary_ok"]
    matrix = gpuopt.DiaMatrix(problem.inputs["A"], device=device)
    assert matrix.configuration == tuned.choices[0].configuration
    np.testing.assert_allclose(matrix @ problem.inputs["x"], problem.reference, rtol=0, atol=problem.tolerance.max())
    rows = Path(tuned.records[0]["evidence"])
    assert rows.exists()
    count = len(lab.Store(rows).rows())
    assert str(tuned.choices[0].configuration) == PRESET
    again = lab.tune(problem, device=device, variants=["basic", "coarse"])
    assert again.choices[0].configuration == tuned.choices[0].configuration
    kept = [r["row_id"] for r in lab.Store(rows).rows()[count:] if r["kind"] == "search" and r["status"] == "ok"]
    assert kept == []  # nothing that was searched is searched again
