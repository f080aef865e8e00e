"""Times of plans on drivers whose clocks are made up (``drivers/clock.c``), and on those that are here."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import _core
from made_up import BUILD, needs_a_dynamic_loader, told

CLOCK = (
    BUILD
    + """
import json
from gpuopt.lab.device import bandwidth
from gpuopt.lab.timing import samplers
step = bandwidth.clock_step_ns(d.index)
"""
)


def on_clock(code: str, device: gpuopt.Device, built: Path, times: str) -> object:
    """What the program printed, on a driver whose event times are made up."""
    needs_a_dynamic_loader()
    (line,) = told(CLOCK.format(index=device.index) + code, LD_PRELOAD=str(built / "clock.so"), EVENT_TIMES=times)
    return json.loads(line)


# ---------------------------------------------------------------- a timer that is no use


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("times", ["zero", "still", "backwards"])
def test_a_device_without_event_times_is_timed_by_the_host(device: gpuopt.Device, built: Path, times: str) -> None:
    code = (
        "plan = build(1 << 12)\n"
        "sampler = samplers.device_sampler(plan, step)\n"
        "begin = samplers.time.perf_counter()\n"
        "taken = sampler.take(3)\n"
        "spent = (samplers.time.perf_counter() - begin) * 1e3\n"
        "notes = bandwidth.timer_notes(d)\n"
        "rates = [found[2] for found in bandwidth.BandwidthTest(d, 1 << 16).candidates()]\n"
        "print(json.dumps([step == samplers.NO_TIMER, samplers.clock_for([1.0], step), sampler.clock,\n"
        "    sampler.step_ns, 0 < sum(taken) * sampler.batch_n <= spent, sampler.batch_n > 1, min(rates) > 0,\n"
        "    len(notes), sampler.told.flags]))"
    )
    found = on_clock(code, device, built, times)
    assert found == [True, "wall", "wall", 0.0, True, True, True, 1, []]


def test_a_survey_says_that_the_host_timed_it(device: gpuopt.Device, built: Path) -> None:
    code = (
        "from gpuopt.lab.run.survey import survey\n"
        "from gpuopt.workloads.microbench.points import Point, TransferPoint\n"
        "study = survey([Point(gpuopt.Configuration('read_chunks', WIDTH=8), 'float32', 1 << 18),\n"
        "    TransferPoint('upload', False, 1 << 16)], device=d)\n"
        "print(json.dumps([[row['status'] for row in study.points], [row['clock'] for row in study.points],\n"
        "    sum('host' in note and 'event timer' in note for note in study.notes)]))"
    )
    assert on_clock(code, device, built, "zero") == [["ok", "ok"], ["wall", "wall"], 1]


def test_a_clock_that_runs_is_kept(device: gpuopt.Device, built: Path) -> None:
    code = "print(json.dumps([step == samplers.NO_TIMER, bandwidth.timer_notes(d)]))"
    assert on_clock(code, device, built, "as they are") == [False, []]


# ---------------------------------------------------------------- doubts about a timer

DOUBT = (
    "plan = build(ELEMENTS)\n"
    "sampler = samplers.device_sampler(plan, step, None, 'batch')\n"
    "sampler.take(1)\n"
    "sampler.begin()\n"
    "sampler.take(20)\n"
    "print(json.dumps([sampler.clock, sampler.told.flags]))"
)


@pytest.mark.parametrize(
    ("times", "elements", "flags"),
    [("double", 1 << 24, ["timer_suspect"]), ("as they are", 1 << 24, []), ("slow", 1 << 16, [])],
)
def test_the_hosts_time_to_fill_a_queue_is_no_doubt(
    device: gpuopt.Device, built: Path, times: str, elements: int, flags: list[str]
) -> None:
    code = DOUBT.replace("ELEMENTS", str(elements))
    found = (on_clock(code, device, built, times) for _ in range(3))  # a busy machine may make one doubtful
    assert ["batch", flags] in found


# ---------------------------------------------------------------- periods


PERIODS = (
    "plan = build(64)\nplan.run()\n"
    "print(json.dumps([[plan.sample(2, batch, period)[name] for name in ('device_ms', 'busy_ms', 'all_ms')]\n"
    "    for period in (False, True) for batch in (1, 2, 7, 1023, 1024, 3000)]))"
)


def test_a_period_has_one_gap_whatever_the_batch(device: gpuopt.Device, built: Path) -> None:
    """Kernels of 10 us with gaps of 7 between them; at most 1024 in a group behind a gate."""
    batches = np.array([1, 2, 7, 1023, 1024, 3000])
    found = np.array(on_clock(PERIODS, device, built, "regular")).reshape(2, 6, 3, 2) * 1e3
    spans, periods = found[0], found[1]
    np.testing.assert_allclose(found[:, :, 1], 10, rtol=1e-9)
    np.testing.assert_allclose(periods[:, 0], 17, rtol=1e-9)
    groups = np.array([1, 1, 1, 1, 1, 3])
    np.testing.assert_allclose(spans[:, 0].T, [17 - 7 * groups / batches] * 2, rtol=1e-9)
    np.testing.assert_array_equal(spans[:, 2], spans[:, 0])
    groups = np.array([1, 1, 1, 1, 2, 3])  # of 1023 that are counted and one that is not
    np.testing.assert_allclose(periods[:, 2].T, [17 - 7 * groups / (batches + groups)] * 2, rtol=1e-9)


def test_events_are_asked_for_of_a_batchs_ends_alone(device: gpuopt.Device, built: Path) -> None:
    """An event for each command costs 7 us on this made-up driver: they are in no run's time but that of the last."""
    batches = np.array([1, 2, 7, 1023, 1024, 3000])
    found = np.array(on_clock(PERIODS, device, built, "asked")).reshape(2, 6, 3, 2) * 1e3
    groups = np.array([1, 1, 1, 1, 2, 3])
    np.testing.assert_allclose(found[1, :, 0].T, [10 + 7 * groups / batches] * 2, rtol=1e-9)


def test_the_commands_of_a_long_plan_do_not_wait_for_their_events(device: gpuopt.Device, built: Path) -> None:
    """33 commands of 10 us: an event for each would add 32 times 7 us, one for the last alone adds 7."""
    code = (
        "plan = gpuopt.problems.gemm(8, 64, 4096).prepare(gpuopt.Configuration('constant'), d).prepared\n"
        "taken = [plan.sample(2), plan.sample(1, 3), plan.sample(1, 3, True)]\n"
        "names = ('device_ms', 'busy_ms', 'all_ms')\n"
        "print(json.dumps([len(plan.kernels), *([one[name][-1] * 1e3 for name in names] for one in taken)]))"
    )
    commands, single, batch, period = on_clock(code, device, built, "asked")  # type: ignore[misc]
    assert commands == 33
    assert single == pytest.approx([337, 330, 337])
    assert batch == pytest.approx([(990 + 7 + 7) / 3, 330, (990 + 7 + 7) / 3])
    assert period == pytest.approx([330 + 7 / 3, 330, (4 * 330 + 7 + 7) / 4])


def test_samples_say_when_they_began(any_device: gpuopt.Device) -> None:
    a = _core.empty((64,), np.dtype(np.float32), any_device)
    plan, host = _core.prepare_transfer(a, True, False)
    assert host.nbytes == 256
    begin = time.perf_counter()
    starts = plan.sample(3)["start_s"] + plan.sample(2, 4)["start_s"] + plan.sample(1, 4, True)["start_s"]
    instants = [begin, *starts, time.perf_counter()]
    assert len(starts) == 6
    assert instants == sorted(instants)
