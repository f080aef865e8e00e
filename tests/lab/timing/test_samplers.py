"""Samplers and visits: how many samples are taken, what is told of them, and what is not measured any further."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import time
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt.lab.timing import samplers, verification
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.lab.timing.samplers import Sampler

FULL = PROTOCOLS["full"]


class Plan:
    """Stands for a built plan; its times are made up, in ms a run. ``asked`` are the calls."""

    def __init__(self, device_ms: float, queued_ms: float = 0.0, wall_ms: float | None = None) -> None:
        self.device_ms, self.queued_ms, self.wall_ms = device_ms, queued_ms, device_ms if wall_ms is None else wall_ms
        self.asked: list[tuple[int, int, bool]] = []

    def sample(self, count: int, batch: int = 1, period: bool = False) -> dict[str, list[float]]:
        self.asked.append((count, batch, period))
        told = {"device_ms": self.device_ms, "queued_ms": self.queued_ms, "wall_ms": self.wall_ms}
        told |= {"busy_ms": 0.75 * self.device_ms, "all_ms": self.device_ms, "start_s": 7.0}
        return {name: [value] * count for name, value in told.items()}


def sampler(*args: Any, **fields: Any) -> Sampler:
    return samplers.device_sampler(Plan(*args, **fields), 1.0)  # type: ignore[arg-type]


# ---------------------------------------------------------------- visits


def test_a_visit_tells_of_itself_alone() -> None:
    plan = Plan(1.0, 0.25, 1.25)
    taking = samplers.device_sampler(plan, 1.0)  # type: ignore[arg-type]
    first = samplers.visit(taking, FULL)
    plan.queued_ms, plan.wall_ms = 0.5, 1.5
    second = samplers.visit(taking, FULL)
    assert (first.busy_ms, first.queued_ms, first.wall_ms) == (0.75, 0.25, 1.25)
    assert (second.queued_ms, second.wall_ms) == (0.5, 1.5)
    plan.device_ms = 1.0001
    taking.told.flags.append("timer_suspect")  # of a warm-up, say
    assert samplers.visit(taking, FULL).flags == []
    assert second.start_s == [7.0] * len(second.samples)
    assert len(first.start_s) == len(first.samples)


def test_a_visit_without_time_is_an_error() -> None:
    with pytest.raises(gpuopt.Error, match="no time at all"):
        samplers.visit(Sampler(lambda count: [0.0] * count, "event"), FULL)
    seldom = Sampler(lambda count: [0.0, *[1.0] * (count - 1)], "event")
    assert samplers.visit(seldom, FULL).median_ms == 1.0


@pytest.mark.parametrize("kind", ["device", "host", "theirs"])
def test_cold_visits_count_the_flush(kind: str) -> None:
    taken = itertools.count()

    def flush() -> None:
        next(taken)
        time.sleep(0.004)

    make = {
        "device": lambda: samplers.device_sampler(Plan(0.001), 1.0, flush),  # type: ignore[arg-type]
        "host": lambda: samplers.wall_sampler(lambda: None, flush),
        "theirs": lambda: samplers.queued_sampler(lambda count, batch: [0.001] * count, flush),
    }
    protocol = dataclasses.replace(FULL, visit_s=0.02, search_cap_s=0.05)
    assert 3 <= len(samplers.visit(make[kind](), protocol).samples) <= 6
    assert len(samplers.visit(make[kind](), dataclasses.replace(FULL, visit_s=9.0)).samples) == samplers.COLD_SAMPLES
    begin = next(taken)
    samplers.search_samples(make[kind](), protocol)
    assert next(taken) - begin < 40


def test_hot_visits_are_filled_by_device_time() -> None:
    assert len(samplers.visit(sampler(1.0), dataclasses.replace(FULL, visit_s=0.02)).samples) == 20


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize(
    ("plan", "suspect"),
    [
        (Plan(1.0, 0.5, 1.5), False),
        (Plan(1.0, 0.5, 1.54), False),
        (Plan(1.0, 0.0, 1.2), True),
        (Plan(2.0, 0.0, 1.0), True),
        (Plan(0.2, 0.0, 0.8), False),  # the host's own way is much of what is short
        (Plan(0.02, 0.5, 0.02), False),  # 50 runs behind a gate: the wait before it opens is on no clock
        (Plan(0.02, 0.5, 0.0225), False),  # 1 ms, of which the host sees the end an eighth later
        (Plan(0.02, 0.5, 0.03), True),
        (Plan(0.02, 0.0, 0.018), True),
    ],
)
def test_clocks_that_differ_are_told(plan: Plan, suspect: bool) -> None:
    taking = samplers.device_sampler(plan, 1.0)  # type: ignore[arg-type]
    assert ("timer_suspect" in samplers.visit(taking, FULL).flags) is suspect


def test_one_late_wake_up_is_no_suspicion() -> None:
    assert not samplers.clocks_differ([2.0, 2.0, 2.0], [2.01, 9.0, 2.02])
    assert samplers.clocks_differ([2.0, 2.0, 2.0], [1.01, 9.0, 1.02])  # no host is early


def test_one_clock_fits_all_or_none() -> None:
    assert samplers.clock_for([0.05, 3.0], 32.0) == "event"
    assert samplers.clock_for([0.049, 3.0], 32.0) == "batch"
    assert samplers.clock_for([0.05, 3.0], 1000.0) == "batch"  # 100 steps are 0.1 ms
    assert samplers.clock_for([3.0], samplers.NO_TIMER) == "wall"


@pytest.mark.parametrize(
    ("once_ms", "clock", "word", "asked"),
    [
        (3.0, None, "event", (2, 1, False)),
        (3.0, "event", "event", (2, 1, False)),
        (0.001, "event", "event", (2, 1, False)),
        (3.0, "batch", "batch", (2, 1, True)),  # of long runs one period is enough
        (0.001, None, "batch", (2, 1000, True)),
        (0.01, "batch", "batch", (2, 100, True)),
        (3.0, "wall", "wall", (2, 4, False)),
    ],
)
def test_the_clock_of_a_comparison_is_kept(once_ms: float, clock: Any, word: str, asked: tuple[int, int, bool]) -> None:
    plan = Plan(once_ms, 0.0, 2 * once_ms)
    taking = samplers.device_sampler(plan, 1.0, None, clock)  # type: ignore[arg-type]
    assert (taking.clock, taking.batch_n) == (word, asked[1])
    assert taking.take(2) == [2 * once_ms if word == "wall" else once_ms] * 2
    assert plan.asked[-1] == asked


@pytest.mark.parametrize("clock", [None, "event", "batch"])
def test_no_event_timer_is_no_event_clock(clock: Any) -> None:
    plan = Plan(0.0, 0.0, 0.5)
    taking = samplers.device_sampler(plan, samplers.NO_TIMER, None, clock)  # type: ignore[arg-type]
    assert (taking.clock, taking.batch_n, taking.step_ns, taking.take(2)) == ("wall", 20, 0.0, [0.5, 0.5])
    cold = samplers.device_sampler(plan, samplers.NO_TIMER, lambda: None, clock)  # type: ignore[arg-type]
    assert (cold.clock, cold.batch_n, cold.take(2)) == ("wall", 1, [0.5, 0.5])
    found = samplers.visit(taking, FULL)
    assert (found.busy_ms, found.queued_ms, found.wall_ms, found.flags) == (None, None, 0.5, [])


def test_a_sampler_lets_go_of_its_plan() -> None:
    gc.collect()
    gc.disable()
    try:
        plan = Plan(0.01)
        taking = samplers.device_sampler(plan, 1.0, lambda: None)  # type: ignore[arg-type]
        taking.take(2)
        gone = weakref.ref(plan)
        del plan, taking
        assert gone() is None
    finally:
        gc.enable()


def test_steps_of_clocks() -> None:
    assert sampler(1.0).step_ns == 1.0
    assert samplers.wall_sampler(lambda: None).step_ns == 0.0
    assert samplers.queued_sampler(lambda count, batch: [1.0] * count).step_ns == samplers.CUDA_STEP_NS


# ---------------------------------------------------------------- the search


def counted(times: Any) -> SimpleNamespace:
    taken: list[float] = []

    def take(count: int) -> list[float]:
        got = [next(times) for _ in range(count)]
        taken.extend(got)
        return got

    return SimpleNamespace(taken=taken, sampler=Sampler(take, "event"))


def test_the_hopeless_are_cut_short() -> None:
    slow = counted(itertools.repeat(5.0))
    found = samplers.search_samples(slow.sampler, FULL, 4.0)
    assert (len(slow.taken), found.samples, found.flags) == (3, [5.0] * 3, ["cut_short"])
    assert samplers.warm_up(slow.sampler, FULL, 4.0) < 50
    assert len(slow.taken) == 6


def test_one_good_sample_is_hope() -> None:
    protocol = dataclasses.replace(FULL, search_min_s=0.0, search_cap_s=0.0, warm_up_s=0.0, warm_up_cap_s=1e-3)
    lucky = counted(itertools.cycle([5.0, 5.0, 3.0]))
    assert "cut_short" not in samplers.search_samples(lucky.sampler, protocol, 4.0).flags
    assert len(lucky.taken) >= 10


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_units_in_the_last_place(dtype: str) -> None:
    kind = np.finfo(dtype)
    sizes = [0, kind.smallest_subnormal, kind.tiny, 1.5 * kind.tiny, 1 - kind.eps / 2, 1, 1.5, 3, float(kind.max) / 2]
    scale = np.array(sizes, dtype=np.float64)
    assert np.array_equal(verification._last_places(scale, np.dtype(dtype)), np.spacing(scale.astype(dtype)))
    assert verification._last_places(scale, np.dtype(np.int32)) == [1]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_must_stand_where_the_reference_has_it(strange: float) -> None:
    reference = np.linspace(1, 2, 9)
    result = (reference + 1e-6).astype(np.float32)
    result[4] = strange
    with pytest.raises(gpuopt.MismatchError, match="1 of 9 elements are off"):
        verification.compare(result, reference, np.array(1e-5))
    for allowed in (np.array(1e-5), np.where(np.arange(9) == 4, np.inf, 1e-5)):
        both = reference.copy()
        both[4] = strange
        assert verification.compare(result, both, allowed)["max_abs"] == pytest.approx(1e-6, rel=0.1)
        finite = np.where(np.isfinite(result), result, 1).astype(np.float32)
        with pytest.raises(gpuopt.MismatchError, match="1 of 9 elements are off"):
            verification.compare(finite, both, allowed)


def test_large_arrays_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    reference = draw.uniform(1, 2, (7, 13))
    result = (reference + draw.uniform(-1e-6, 1e-6, reference.shape)).astype(np.float32)
    for tolerance in (np.array(1e-5), np.full(reference.shape, 1e-5)):
        monkeypatch.setattr(verification, "PART", 1 << 24)
        whole = verification.compare(result, reference, tolerance)
        monkeypatch.setattr(verification, "PART", 8)
        assert verification.compare(result, reference, tolerance) == pytest.approx(whole)
    result[5, 3] = 9
    result[6, 12] = 5
    with pytest.raises(gpuopt.MismatchError, match=r"2 of 91 elements are off; the worst, \(5, 3\), is 9"):
        verification.compare(result, reference, np.array(1e-5))
