"""How busy a machine is: on made-up /proc trees, with a made-up GPU, and what follows for verdicts."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import study_rows
from gpuopt import host_memory
from gpuopt.lab.device import conditions as sampling
from gpuopt.lab.device import environment, sysfs_gpu
from gpuopt.lab.device.conditions import Sampler
from gpuopt.lab.report import Study
from gpuopt.lab.rows import conditions, refusals
from gpuopt.lab.rows.facts import NO_STATE, DeviceState
from gpuopt.lab.rows.refusals import Conditions, spread_of
from gpuopt.lab.rows.schema import GROUPS, Row, complete

CPU: Any = SimpleNamespace(type="cpu", name="A CPU", platform="PoCL", vendor="x", pci="")
GPU: Any = SimpleNamespace(type="gpu", name="A GPU", platform="Vendor", vendor="x", pci="0000:03:00.0")

refusal = refusals.refusal  # before a fixture takes the limits away


class Host:
    """A made-up machine of two cores: seconds of work, of steal and held back so far, threads that run, and a clock."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.busy, self.steal, self.held, self.now, self.own, self.running = (
            root,
            0.0,
            0.0,
            0.0,
            100.0,
            0.0,
            1,
        )
        for module in (sampling, host_memory):
            monkeypatch.setattr(module, "_ROOT", root)
        monkeypatch.setattr(sampling, "_usable", lambda: {0, 1})
        monkeypatch.setattr("os.cpu_count", lambda: 2)
        monkeypatch.setattr("os.sysconf", lambda name: 100)
        monkeypatch.setattr(sampling.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(sampling.time, "process_time", lambda: self.own)
        self.write("proc/self/cgroup", "0::/box\n")
        self.write("proc/self/task/7/stat", "7 (a name) with) R 1 2\n")
        self.write("proc/self/task/8/stat", "8 (idle) S 1 2\n")
        self.tell()

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def tell(self) -> None:
        core = [f"cpu{i} {50 * self.busy:.0f} 0 0 {50 * self.now:.0f} 0 0 0 {50 * self.steal:.0f} 0 0" for i in (0, 1)]
        other = "cpu2 99999 0 0 0 0 0 0 99999 0 0"  # not ours to use
        self.write("proc/stat", "\n".join(["cpu 1 1 1 1 1 1 1 1 1 1", *core, other, "intr 5"]))
        self.write("proc/loadavg", f"2.50 1.00 0.50 {self.running}/99 1234\n")
        self.write("sys/fs/cgroup/box/cpu.stat", f"nr_periods 5\nthrottled_usec {1e6 * self.held:.0f}\n")

    def passes(
        self, seconds: float, busy: float = 0.0, own: float = 0.0, steal: float = 0.0, held: float = 0.0
    ) -> None:
        """Time in which both cores together work ``busy`` seconds, ``own`` of them for us."""
        self.now += seconds
        self.busy, self.own, self.steal, self.held = (
            self.busy + busy,
            self.own + own,
            self.steal + steal,
            self.held + held,
        )
        self.tell()


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


# ---------------------------------------------------------------- the processor


def test_our_own_work_is_nobody_elses(host: Host) -> None:
    sampler = Sampler(CPU)
    host.passes(10, busy=20, own=20)
    assert sampler.note()["others_load"] == pytest.approx(0, abs=1e-9)
    host.passes(10, busy=20, own=5)
    told = sampler.note()
    assert told["others_load"] == pytest.approx(0.75)
    assert told["load1"] == 2.5


def test_what_our_workers_do_is_ours(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are processes of their own: a casebook on a quiet CPU was refused for its own kernels."""
    sampler = Sampler(CPU)
    monkeypatch.setattr(sampling, "OWN_PROCESSES", {55: 0, 56: 0})  # 56 has ended
    host.write("proc/55/stat", "55 (python) R " + " ".join(["1"] * 10) + " 900 100 0 0 5")
    host.write("proc/55/task/55/stat", "55 (python) R 1 2\n")
    host.running = 2
    host.passes(10, busy=20, own=10)
    assert sampler.note()["others_load"] == pytest.approx(0, abs=1e-9)
    host.running = 3
    host.passes(10, busy=10)
    assert sampler.note()["others_load"] == pytest.approx(0.5)


def test_threads_that_wait_for_a_core_count_too(host: Host) -> None:
    """Two endless loops beside our two threads take one of two cores, and want both."""
    sampler = Sampler(CPU)
    host.running = 3  # this thread and two of others, while our own rest
    host.passes(10, busy=20, own=10)
    assert sampler.note()["others_load"] == pytest.approx(1.0)


def test_steal_and_quota(host: Host) -> None:
    sampler = Sampler(CPU)
    host.passes(10, steal=1, held=2.5)
    told = sampler.note()
    assert told["steal_pct"] == pytest.approx(100 / 11)
    assert told["quota_pct"] == pytest.approx(25)


def test_a_window_too_short_to_tell_says_what_the_last_one_said(host: Host) -> None:
    sampler = Sampler(CPU)
    host.passes(10, busy=10)
    first = sampler.note()
    host.passes(0.01, busy=0.02)
    assert sampler.note() == first
    host.passes(9.99, busy=0)
    assert sampler.note()["others_load"] == pytest.approx(0.001)


def test_a_machine_that_tells_nothing_ends_no_sweep(host: Host) -> None:
    host.write("proc/loadavg", "nonsense")
    host.write("proc/stat", "cpu0 1 2 3 4 5 6 seven 8 9\n")
    sampler = Sampler(CPU, lambda: NO_STATE)
    assert sampler.watched(lambda: "taken") == ("taken", NO_STATE)
    assert sampler.note() == {}
    host.tell()
    host.passes(1, busy=1)
    sampler.note()
    host.passes(1, busy=1)
    assert sampler.note()["others_load"] == pytest.approx(0.5)


def test_heat_slows_a_processor_down(host: Host) -> None:
    counts = [f"sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count" for core in (0, 1)]
    for name in counts:
        host.write(name, "3\n")
    visits = []

    def visit() -> int:
        visits.append(1)
        if len(visits) == 2:
            host.write(counts[1], "4\n")
        return len(visits)

    sampler = Sampler(CPU, lambda: NO_STATE)
    assert sampler.watched(visit) == (1, NO_STATE)
    taken, state = sampler.watched(visit)
    assert (taken, state["throttle"]) == (3, None)  # the second was throttled, and taken again


def test_nothing_of_ours_runs_beside_a_kernel_on_the_processor(host: Host) -> None:
    before = threading.active_count()
    seen, _ = Sampler(CPU, lambda: NO_STATE).watched(threading.active_count)
    assert seen == before


# ---------------------------------------------------------------- the clocks of a GPU


def clocks(monkeypatch: pytest.MonkeyPatch, read: Callable[[], DeviceState]) -> Sampler:
    monkeypatch.setattr(sampling, "clocks_now", lambda device: read())
    monkeypatch.setattr(sampling, "EVERY_S", 0.001)
    return Sampler(GPU, lambda: NO_STATE)


def test_clocks_are_read_during_a_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[DeviceState] = []

    def read() -> DeviceState:
        """Held down in the middle of the first visit alone, which its end does not show."""
        readings.append(
            {"core_mhz": 1000.0 + len(readings), "throttle": "hw_thermal" if len(readings) == 3 else "none"}
        )
        return readings[-1]

    lengths = []

    def visit() -> int:
        begun = len(readings)
        end = time.perf_counter() + 5
        while len(readings) < begun + 6 and time.perf_counter() < end:
            time.sleep(0.001)
        lengths.append(len(readings) - begun)
        return len(lengths)

    taken, state = clocks(monkeypatch, read).watched(visit)
    assert taken == 2  # it was taken again
    assert min(lengths) >= 6
    assert state["throttle"] is None  # the second one was not held down
    assert state["core_mhz"] is not None
    assert state["core_mhz"] > 1004


def test_a_visit_that_is_throttled_twice_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = clocks(monkeypatch, lambda: {"core_mhz": 900.0, "throttle": "sw_power_cap+hw_thermal"})
    visits: list[int] = []
    _, state = sampler.watched(lambda: visits.append(1))
    assert len(visits) == 2
    assert (state["throttle"], state["core_mhz"]) == ("sw_power_cap+hw_thermal", 900.0)


def test_without_a_thread_no_clocks_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    sampler = clocks(monkeypatch, lambda: {"core_mhz": 900.0, "throttle": "none"})
    assert sampler.watched(lambda: 3) == (3, NO_STATE)


def test_the_thread_ends_with_the_visit_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def read() -> DeviceState:
        asked.append(1)
        if len(asked) > 1:
            raise RuntimeError("the driver went away")
        return {"core_mhz": 1.0, "throttle": "none"}

    before = threading.active_count()
    assert clocks(monkeypatch, read).watched(lambda: "taken") == ("taken", NO_STATE)
    assert threading.active_count() == before

    def fail() -> None:
        raise MemoryError("ours")

    with pytest.raises(MemoryError, match="ours"):
        clocks(monkeypatch, lambda: {"core_mhz": 1.0, "throttle": "none"}).watched(fail)
    assert threading.active_count() == before


def test_a_card_that_sysfs_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysfs_gpu, "_ROOT", tmp_path)
    assert sysfs_gpu.state(GPU.pci) == sysfs_gpu.state("") == {}
    assert environment.clocks_now(GPU) is None
    at = tmp_path / "sys/bus/pci/devices" / GPU.pci

    def write(name: str, text: str) -> None:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text(text)

    for name, value in {
        "freq1_input": 1700e6,
        "freq2_input": 900e6,
        "temp1_input": 61e3,
        "power1_average": 150e6,
    }.items():
        write(f"hwmon/hwmon3/{name}", f"{value:.0f}\n")
    told = environment.device_state(GPU)
    assert (told["core_mhz"], told["mem_mhz"], told["temp_c"], told["power_w"]) == (1700, 900, 61, 150)
    assert told["throttle"] is None
    assert tuple(told) == GROUPS["device_state"]
    write("drm/card0/gt/gt0/rps_act_freq_mhz", "2100")
    for reason, held in (("status", 1), ("pl1", 1), ("thermal", 0)):
        write(f"drm/card0/gt/gt0/throttle_reason_{reason}", str(held))
    assert environment.clocks_now(GPU) == {"core_mhz": 2100, "throttle": "pl1"}
    write("drm/card0/gt/gt0/throttle_reason_pl1", "0")
    assert environment.clocks_now(GPU) == {"core_mhz": 2100, "throttle": "none"}
    write("tile0/gt0/freq0/throttle/reason_prochot", "1")
    assert environment.clocks_now(GPU) == {"core_mhz": 2100, "throttle": "prochot"}


# ---------------------------------------------------------------- verdicts, words


@pytest.mark.parametrize(
    ("held", "band", "spread", "why"),
    [
        (Conditions(others_load=0.5, steal_pct=5, quota_pct=5, is_cpu=True), 0.25, 0.5, None),
        (Conditions(others_load=0.6, is_cpu=True), 0.01, 0.01, "other programs wanted 60 % of the processor's cores"),
        (Conditions(others_load=0.6), 0.01, 0.01, None),  # a GPU's events do not see it
        (Conditions(steal_pct=6.0, is_cpu=True), None, None, "the host took 6 %"),
        (Conditions(quota_pct=6.0, is_cpu=True), None, None, "the CPU quota held the process back for 6 %"),
        (Conditions(), 0.3, None, "the baseline differed from itself by 30 %"),
        (Conditions(), 0.01, 0.6, "the baseline's time changed by 60 % within a block"),
        (Conditions(is_cpu=True), None, None, None),  # nothing is on record: earlier versions
    ],
)
def test_when_verdicts_are_refused(held: Conditions, band: float | None, spread: float | None, why: str | None) -> None:
    told = refusal(held, band, spread)
    assert told is None if why is None else told is not None and told.startswith(why)


def test_shares_of_bounds_come_with_a_remark_before_verdicts_end() -> None:
    assert refusals.bounds_remark(Conditions(others_load=0.2, is_cpu=True)) is None
    assert refusals.bounds_remark(Conditions(others_load=0.4)) is None
    remark = refusals.bounds_remark(Conditions(others_load=0.4, is_cpu=True))
    assert remark is not None
    assert "shares of bounds are too low here: other programs wanted 40 %" in remark


def busy(rows: list[Row], loads: list[float | None]) -> list[Row]:
    made = []
    for row in rows:
        load = loads[row["block"] % len(loads)] if row["block"] is not None else None
        made.append(row | {"others_load": load, "steal_pct": None if load is None else 0.5, "device_type": "cpu"})
    return made


def test_conditions_are_those_of_the_middle_block() -> None:
    held = Conditions.of(Study(busy(study_rows.rows(6), [0.1, 0.2, 0.9])).rows)
    assert held.others_load == pytest.approx(0.2)
    assert held.steal_pct == 0.5
    assert held.is_cpu
    assert Conditions.of(Study(study_rows.rows(6)).rows).others_load is None


def test_one_visit_that_was_held_up_refuses_nothing() -> None:
    def visits(*times: float, clock: str = "batch") -> list[Row]:
        alike = {"kind": "block", "role": "sentinel", "status": "ok", "clock": clock, "env_hash": "e"}
        return [complete({**alike, "block": block, "median_ms": ms}) for block in range(6) for ms in times]

    by_host = visits(1.0, 1.0, 1.0, clock="wall")  # the host's clock tells twice the time: no change of the device
    assert spread_of([*visits(0.5, 0.5, 1.0, 0.5, 0.5, 0.5), *by_host]) == pytest.approx(0)
    assert spread_of([*visits(0.5, 1.0, 0.5, 1.0), *visits(0.5, 1.0, clock="wall")]) == pytest.approx(1)
    assert spread_of([]) is None


def test_two_plain_lines() -> None:
    facts = {"cpu": {"usable_threads": 2, "quota_cpus": None, "governor": "powersave"}}
    environment_row = {"kind": "environment", "env_hash": "e", "environment": facts}
    rows = [row | {"env_hash": "e", "unit": "ab12", "commit": "0123456789abcdef+dirty"} for row in study_rows.rows(6)]
    study = Study([environment_row, *busy(rows, [0.1])])
    when, state = conditions.lines(study)
    assert when == "measured 2026-11-21 08:00 UTC · gpuopt 0.1.0 (012345678+dirty) · unit ab12"
    assert state == "others wanted 10 % of 2 cores · steal 0.5 % · governor powersave · noise ± 1 %"
    table = study.to_text(300)
    assert "; 2026-11-21 08:00 UTC; quick, 6 blocks; " in table
    assert f"Times hold within this sitting: {state.replace(' · ', '; ')}." in table
    assert "gpuopt 0.1.0 (012345678+dirty) · unit ab12" in study.explain(300)
    refused = Study([environment_row, *(row | {"refused": "it was loud"} for row in study.rows)])
    assert conditions.lines(refused)[1].startswith("NO VERDICTS: it was loud · ")
    assert conditions.lines(Study(study_rows.rows(6)))[1] == "load not recorded · noise ± 1 %"
    assert conditions.lines(Study([])) == []


def test_a_refused_comparison_says_so_in_every_sentence() -> None:
    said = Study([row | {"refused": "it was loud", "verdict": "AMBIGUOUS"} for row in study_rows.rows(6)]).sentences()
    assert not any("faster than" in sentence for sentence in said)
    assert any("(no verdict: it was loud)" in sentence for sentence in said)
    assert dataclasses.replace(Conditions(gpu_others=1.4)).fields()["gpu_others"] == 1
