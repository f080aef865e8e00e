"""Energies on made-up meters: what follows from known powers, and what becomes of meters that fail."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

import gpuopt
import own_kernels
from gpuopt import lab, problems
from gpuopt._core import ParameterError
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.run import energy
from gpuopt.lab.run.energy import EnergyPass, HostClock, Lengths, Readings, loop
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.progress import Bar
from gpuopt.workloads.microbench.points import TransferPoint
from meters import GPU, Bench, BenchMeter, SteadyMeter, candidate

SHORT = Lengths(
    idle_s=0.03, loop_s=0.05, steps=5, settle_s=0.01, settle_cap_s=0.02, window_s=0.005, section_s=0.005, power_s=0.01
)


def watts(busy: float, idle: float = 80.0) -> Any:
    return lambda busy_s: idle if busy_s is None else busy


def measured(bench: Bench, *candidates: Any, meter: BenchMeter | None = None) -> list[Any]:
    """The rows of kind energy that a pass keeps."""
    recorder = Recorder(None)
    EnergyPass(GPU, meter or BenchMeter(bench), recorder, clock=bench).run(candidates, Bar(False, 0))  # type: ignore[arg-type]
    return recorder.rows


def test_a_constant_power_gives_its_energy_exactly() -> None:
    bench = Bench(watts(480.0), run_s=0.004)
    first, last = measured(bench, candidate(bench, flops=8e9, bytes={"dram": 2e9}))
    assert first["idles_w"] == pytest.approx([80.0])  # kept at once
    assert last["idles_w"] == pytest.approx([80.0, 80.0])
    assert last["row_id"] == first["row_id"]
    assert last["gross_j"] == pytest.approx(480 * 0.004, rel=1e-6)
    assert last["net_j"] == pytest.approx(400 * 0.004, rel=1e-6)
    assert last["mean_w"] == pytest.approx(480.0)
    assert last["gflop_j"] == pytest.approx(8 / (400 * 0.004))
    assert last["gb_j"] == pytest.approx(2 / (400 * 0.004))
    assert last["apart_pct"] == pytest.approx(0.0, abs=1e-6)
    assert last["power_pct"] == pytest.approx(0.0, abs=1e-6)
    assert all(5.0 <= seconds < 5.3 for seconds in last["loop_s"])
    assert last["sensor_pct"] == 25.0
    assert last["energy_note"] is None


def test_a_ramp_at_the_start_is_no_part_of_the_loop() -> None:
    """As on an H200: below 653 W for the first second."""
    bench = Bench(lambda busy_s: 80.0 if busy_s is None else min(653.0, 200 + 400 * busy_s))
    row = measured(bench, candidate(bench))[-1]
    assert row["mean_w"] == pytest.approx(653, rel=2e-3)
    assert row["energy_note"] is None


def test_power_that_never_settles_is_told() -> None:
    bench = Bench(lambda busy_s: 80.0 if busy_s is None else 200 + 40 * busy_s)
    row = measured(bench, candidate(bench))[-1]
    assert "not steady" in row["energy_note"]
    assert "its loops differ by" in row["energy_note"]  # the second one goes on where the first ended


def test_noise_stays_noise() -> None:
    noise = random.Random(3)
    bench = Bench(lambda busy_s: (80.0 if busy_s is None else 500.0) * noise.uniform(0.97, 1.03))
    row = measured(bench, candidate(bench))[-1]
    assert row["net_j"] == pytest.approx(420 * 0.004, rel=5e-3)
    assert row["apart_pct"] < 1
    assert abs(row["power_pct"]) < 2


def test_a_sensor_that_disagrees_with_the_counter_is_told() -> None:
    bench = Bench(watts(500.0))
    row = measured(bench, candidate(bench), meter=BenchMeter(bench, power=lambda power: 1.1 * power))[-1]
    assert row["power_pct"] == pytest.approx(10.0)
    assert "differs from the counter by +10.0 %" in row["energy_note"]


def test_without_a_sensor_of_power_the_counter_stands_alone() -> None:
    bench = Bench(watts(500.0))
    row = measured(bench, candidate(bench), meter=BenchMeter(bench, power=lambda power: None))[-1]
    assert (row["loop_power_j"], row["power_pct"], row["energy_note"]) == (None, None, None)


def test_an_idle_power_that_changed_is_told_and_split() -> None:
    bench = Bench(lambda busy_s: 200.0 if busy_s else 100.0 if bench.runs else 80.0)
    row = measured(bench, candidate(bench))[-1]
    assert row["idle_w"] == pytest.approx(90.0)
    assert row["net_j"] == pytest.approx(110 * 0.004)
    assert "80.0 W before and 100.0 W after" in row["energy_note"]


def test_what_takes_hardly_more_than_idling_has_no_work_per_joule() -> None:
    bench = Bench(watts(80.0))
    row = measured(bench, candidate(bench, flops=1e9))[-1]
    assert row["gflop_j"] is None
    assert "hardly more power than the idle device" in row["energy_note"]


@pytest.mark.parametrize("run_s", [0.001, 0.03, 2.3])
def test_the_runs_of_a_loop_are_those_between_its_ends(run_s: float) -> None:
    """Of short runs and of such as are longer than a step of the counter."""
    bench = Bench(watts(300.0), run_s=run_s)
    row = measured(bench, candidate(bench))[-1]
    seconds_a_run = [seconds / runs for seconds, runs in zip(row["loop_s"], row["loop_runs"], strict=True)]
    assert seconds_a_run == pytest.approx([bench.run_s] * 2, rel=1e-6)
    assert row["gross_j"] == pytest.approx(300 * bench.run_s, rel=2e-3)  # a step is seen up to 5 ms late


def test_a_counter_that_stands_still_is_a_reason_in_its_row() -> None:
    bench = Bench(watts(300.0))
    stuck = BenchMeter(bench, altered=lambda joules, now: min(joules, 2000.0))
    rows = measured(bench, candidate(bench, "first"), candidate(bench, "second"), meter=stuck)
    assert [row["status"] for row in rows] == ["runtime", "runtime"]
    assert "stood still for 2.0 s" in rows[0]["reason"]
    assert rows[0]["net_j"] is None


def test_a_counter_that_goes_backwards_is_a_reason_and_the_next_may_be_measured() -> None:
    bench = Bench(watts(300.0))
    reset = BenchMeter(bench, altered=lambda joules, now: joules - 900.0 if now > 10 else joules)
    rows = measured(bench, candidate(bench, "first"), candidate(bench, "second"), meter=reset)
    assert "went backwards" in rows[0]["reason"]
    assert [(row["variant"], row["status"]) for row in rows[1:]] == [("second", "ok")] * 2


def test_a_meter_that_raises_anything_ends_with_a_reason() -> None:
    bench = Bench(watts(300.0))

    def lost(joules: float, now: float) -> float:
        if now > 9:
            raise OSError("the device is gone")
        return joules

    (row,) = measured(bench, candidate(bench), meter=BenchMeter(bench, altered=lost))
    assert row["reason"] == "the meter nvml failed: OSError: the device is gone"


def test_other_processes_on_the_gpu_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "other_gpu_processes", lambda device: 2)
    bench = Bench(watts(300.0))
    row = measured(bench, candidate(bench))[-1]
    assert row["energy_note"] == "what 2 other processes on the GPU took may be in it"
    assert row["net_j"] > 0


def test_runs_that_a_restore_keeps_apart_have_no_energy() -> None:
    bench = Bench(watts(300.0))
    (row,) = measured(bench, candidate(bench, flushed=True))
    assert row["status"] == "constraints"
    assert "none follow back to back" in row["reason"]
    assert bench.runs == 0


def test_an_interrupt_keeps_what_was_finished_and_ends_the_looks() -> None:
    bench, recorder = Bench(watts(300.0)), Recorder(None)

    @dataclass
    class Interrupted(Bench):
        watts: Any = field(default=watts(300.0))

        def run(self) -> None:
            raise KeyboardInterrupt

    found = EnergyPass(GPU, BenchMeter(bench), recorder, clock=bench)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        found.run([candidate(bench, "first"), candidate(Interrupted(), "second")], Bar(False, 0))
    assert [(row["variant"], row["status"]) for row in recorder.rows] == [("first", "ok")]
    assert bench._look is None


def test_the_hosts_clock_looks_in_a_thread_that_ends_with_the_loop() -> None:
    clock, meter = HostClock(), SteadyMeter(power_w=40.0)
    got = loop(meter, clock, SHORT, SHORT.loop_s, lambda: clock.sleep(0.002) or 1)
    assert got.watts == pytest.approx(40.0, rel=0.1)
    assert got.seconds >= SHORT.loop_s
    assert not [thread for thread in threading.enumerate() if thread.name == "gpuopt-energy"]


def test_looks_never_raise() -> None:
    readings = Readings(SteadyMeter(readings=1), HostClock(), 0.1)
    for _ in range(3):
        readings.look()
    assert str(readings.error) == "the cable was pulled"


# ---------------------------------------------------------------- sweeps


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "LENGTHS", SHORT)


def given(monkeypatch: pytest.MonkeyPatch, meter: Any) -> None:
    monkeypatch.setattr(energy, "meter_of", lambda device: meter)


@pytest.fixture
def problem() -> gpuopt.problem.Problem:
    return problems.tmv(512)


def swept(problem: Any, device: gpuopt.Device, protocol: str = "quick", **more: Any) -> lab.Study:
    return lab.sweep(problem, ["naive", "row_parts"], protocol=protocol, device=device, peers=(), calls=False, **more)


def test_a_sweep_tells_the_energy_of_its_variants(
    any_device: gpuopt.Device, problem: Any, short: None, brief: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    given(monkeypatch, SteadyMeter(50.0))
    study = swept(problem, any_device, protocol=brief, energy=True, store=tmp_path / "rows.jsonl")
    rows = [row for row in study.summary if row["role"] == "variant"]
    assert len(rows) == 2
    for row in rows:
        run_s = sum(row["loop_s"]) / sum(row["loop_runs"])
        assert row["gross_j"] == pytest.approx(50.0 * run_s, rel=0.1)
        assert row["flops"] == 2 * 512 * 512
        if row["gflop_j"]:
            assert row["gflop_j"] == pytest.approx(row["flops"] * 1e-9 / row["net_j"])
            assert row["gb_j"] == pytest.approx(row["bytes"]["dram"] * 1e-9 / row["net_j"])
    again = swept(problem, any_device, protocol=brief, energy=True, store=tmp_path / "rows.jsonl")
    taken = [[row["loop_j"] for row in found.rows if row["kind"] == "energy"][-1] for found in (study, again)]
    assert taken[0] == taken[1]  # nothing was measured again
    loaded = lab.Study.load(tmp_path / "rows.jsonl")
    assert [row["net_j"] for row in loaded.summary if row["role"] == "variant"] == [row["net_j"] for row in rows]


def test_a_meter_that_fails_ends_no_sweep(
    any_device: gpuopt.Device, problem: Any, short: None, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, SteadyMeter(readings=12))
    study = swept(problem, any_device, brief, energy=True)
    found = [row for row in study.summary if row["role"] == "variant"]
    assert [row["status"] for row in found] == ["ok", "ok"]
    assert {row["energy_note"] for row in found} == {"the cable was pulled"}
    assert study.failures() == []


def test_without_a_meter_a_note_says_why(
    any_device: gpuopt.Device, problem: Any, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, "there is no package")
    study = swept(problem, any_device, brief, energy=True)
    assert "no energy: there is no package" in study.notes
    assert "net J" not in str(study)


def test_cold_runs_are_not_back_to_back(any_device: gpuopt.Device, problem: Any) -> None:
    with pytest.raises(ParameterError, match="energy: it is measured of runs back to back"):
        swept(problem, any_device, energy=True, cache="cold")


@pytest.mark.parametrize("call", ["sweep", "tune", "search"])
def test_energy_decides_nothing_without_a_meter(
    any_device: gpuopt.Device, problem: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    given(monkeypatch, "there is no package")
    calls: dict[str, Callable[..., Any]] = {
        "sweep": partial(lab.sweep, problem),
        "tune": partial(lab.tune, problem),
        "search": partial(lab.search, own_kernels.saxpy(), n=64),
    }
    with pytest.raises(ParameterError, match="objective: no energy can be measured here, for there is no package"):
        calls[call](device=any_device, objective="energy")


def test_a_search_by_energy_measures_each_configuration(
    any_device: gpuopt.Device, short: None, brief_quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel of a user's own runs in another process, back to back all the same."""
    given(monkeypatch, SteadyMeter(50.0))
    monkeypatch.setattr(EnergyPass, "idle", lambda self: 10.0)
    found = lab.search(own_kernels.total(), evaluations=3, device=any_device, objective="energy", n=4098)
    summaries = [row for row in found.study.rows if (row["kind"], row["role"]) == ("summary", "variant")]
    least = min(summaries, key=lambda row: row["net_j"])
    assert found.best == dict(least["params"])
    for row in summaries:
        idle_j = 10.0 * sum(row["loop_s"]) / sum(row["loop_runs"])
        assert row["net_j"] == pytest.approx(row["gross_j"] - idle_j)
    assert "the most frugal were measured again" in str(found)


def test_a_search_by_energy_finds_none_where_all_take_what_idling_takes(
    any_device: gpuopt.Device, short: None, brief_quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A counter that other programs rule: the least of net energies about 0 is noise."""
    given(monkeypatch, SteadyMeter(50.0))
    monkeypatch.setattr(EnergyPass, "idle", lambda self: 50.0)
    found = lab.search(own_kernels.total(), evaluations=3, device=any_device, objective="energy", n=4098)
    assert (found.best, found.configuration) == (None, None)
    assert found.study.summary
    assert "none is most frugal: they take hardly more power than the idle device" in " ".join(str(found).split())


def test_a_sweep_may_search_by_energy(
    any_device: gpuopt.Device, problem: Any, short: None, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searching = dataclasses.replace(PROTOCOLS[brief], name="full", all_levels=True)
    monkeypatch.setitem(PROTOCOLS, "full", searching)
    given(monkeypatch, SteadyMeter(50.0))
    monkeypatch.setattr(EnergyPass, "idle", lambda self: 10.0)
    study = lab.sweep(problem, ["naive"], device=any_device, peers=(), calls=False, objective="energy")
    energies = {row["configuration"] for row in study.rows if row["kind"] == "energy"}
    tried = {row["configuration"] for row in study.rows if row["kind"] == "search" and row["status"] == "ok"}
    slow = {row["configuration"] for row in study.rows if "cut_short" in row["flags"]}
    assert tried - slow <= energies
    assert len(tried) > 1


def test_a_kernel_that_changes_what_it_reads_says_why_it_has_no_energy(
    any_device: gpuopt.Device, short: None, brief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, SteadyMeter(50.0))
    problem = own_kernels.saxpy().problem(n=4098)
    study = lab.sweep(
        problem,
        [gpuopt.Configuration("saxpy", WG=64, WIDTH=1)],
        protocol=brief,
        device=any_device,
        calls=False,
        energy=True,
    )
    (row,) = [row for row in study.summary if row["role"] == "variant"]
    assert row["status"] == "ok"
    assert "none follow back to back" in row["energy_note"]


def test_points_of_a_survey_have_energies_too(
    any_device: gpuopt.Device, short: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes a joule of a copy; a transfer is no kernel."""
    given(monkeypatch, SteadyMeter(50.0))
    monkeypatch.setattr(EnergyPass, "idle", lambda self: 10.0)
    copy = lab.Point(gpuopt.Configuration("copy"), "float32", 1 << 18)
    study = lab.survey([copy, TransferPoint("upload", False, 1 << 16)], device=any_device, energy=True)
    (copied, sent) = study.points
    assert copied["gb_j"] == pytest.approx(copied["bytes"]["dram"] * 1e-9 / copied["net_j"])
    assert sent["net_j"] is None
    assert "no plan of kernels" in sent["energy_note"]
