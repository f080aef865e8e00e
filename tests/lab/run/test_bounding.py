"""Bounds of made-up visits: what a launch takes, which ceiling counts, and when a row stands above its bound."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpuopt.lab.device import bounds
from gpuopt.lab.device.bounds import Launch
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.rows import audit_bounds
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run.bounding import Limits, over_blocks
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing.samplers import Sampler, VisitSamples

MIB = float(1 << 20)


class Array:
    """An array that lies at a place of its own."""

    def __init__(self, nbytes: float) -> None:
        self.nbytes = nbytes

    def shares_memory(self, other: object) -> bool:
        return other is self


def visit(
    role: str, time_ms: float, busy_ms: float, moved: float = 0.0, clock: str = "batch", source: Any = None, **more: Any
) -> Any:
    fields: Row = {"dtype": "float32", "device_type": "gpu", "in_turn": more.pop("launches", 1)}
    work: Any = {"bytes": {"dram": moved} | more.pop("bytes", {}), "flops": more.pop("flops", 0.0), "special": more}
    sampler = Sampler(lambda count: [time_ms] * count, clock)  # type: ignore[arg-type]
    made = Candidate(role, role, fields, sampler, lambda: None, work, source)  # type: ignore[arg-type]
    return SimpleNamespace(
        candidate=made, taken=VisitSamples([0.9 * time_ms, time_ms, time_ms], busy_ms), median_ms=time_ms
    )


def profile(**ceilings: Ceiling) -> Profile:
    return Profile("A card", "1.0", "P", "2026-11-22", "0", ceilings)


def test_a_ceiling_as_short_as_a_launch_is_no_rate_of_memory() -> None:
    """512^3 on an H200: 3 MiB, of which the ceiling reads one in little more than a launch. By its whole time, the
    bound was that of three launches, and the kernel stood at 116 % of it."""
    a = Array(MIB)
    row = visit("variant", 0.0352, 0.0338, 3 * MIB, source=a)
    launch, ceiling = visit("overhead", 0.0139, 0.0056), visit("ceiling", 0.0143, 0.0060, MIB, source=a)
    found = Limits([launch, ceiling, row], "llc", None).fields(row)
    assert found["bound_by"] == "llc"
    # The launch's fastest sample, and what a read usually takes beyond a launch: noise of either makes no rate.
    assert found["bound_ms"] == pytest.approx(0.9 * 0.0139 + 3 * 0.0004)
    assert found["next_by"] == "launches"
    assert found["pct_next"] == pytest.approx(100 * 0.9 * 0.0139 / 0.0352)


@pytest.mark.parametrize(("clock", "least"), [("batch", 0.009), ("event", 0.004)])
def test_a_stream_that_takes_long_bounds_by_its_rate(clock: str, least: float) -> None:
    """The launch's part is told apart there too, and hardly counts."""
    row, launch = (
        visit("variant", 2.0, 1.99, 20 * MIB, clock, bytes={"requested": 60 * MIB}),
        visit("overhead", 0.01, 0.004),
    )
    limits = Limits([row, launch, visit("ceiling", 1.01, 1.004, 20 * MIB, clock)], "dram", None)
    usual = 0.01 if clock == "batch" else 0.004
    found = limits.fields(row)
    assert found["bound_by"] == "dram"
    assert found["bound_ms"] == pytest.approx(least + 1.01 - usual)
    assert found["uncached_ms"] == pytest.approx(least + 3 * (1.01 - usual))
    assert Limits([row, launch], "dram", None).fields(row) == {}  # no ceiling, no bound


@pytest.mark.parametrize(("clock", "periods"), [("batch", 3), ("event", 2)])
def test_a_plan_takes_its_launches_one_after_the_other(clock: str, periods: int) -> None:
    row = visit("variant", 0.05, 0.03, MIB, clock, launches=3)
    found = Limits([row, visit("overhead", 0.01, 0.001), visit("ceiling", 0.01, 0.002, MIB)], "llc", None).fields(row)
    assert (found["bound_by"], found["bound_ms"]) == ("launches", pytest.approx(periods * 0.009))


def test_without_a_launch_of_its_own_a_block_takes_the_profiles() -> None:
    row = visit("variant", 0.05, 0.03, MIB, launches=2)
    streams = [visit("ceiling", 0.02, 0.015, MIB)]
    known = profile(launch=Ceiling(12.0, "us", "nothing"))
    assert Limits([row, *streams], "llc", known).launch == Launch(0.012, usual_ms=0.012)
    assert Limits([row, *streams], "llc", known).fields(row)["bound_ms"] == pytest.approx(2 * 0.012 + 0.008)
    assert Limits([row, *streams], "llc", None).fields(row)["bound_by"] == "llc"
    assert "launches" not in bounds.resources({"flops": 1.0}, "float32", known)


def test_data_with_much_padding_are_no_ceiling_of_what_is_needed() -> None:
    """A kernel that needs a third of a buffer may do so from a cache that the whole one does not fit."""
    buffer = Array(30 * MIB)
    row = visit("variant", 1.0, 1.0, 10 * MIB, "event", source=buffer)
    own, small = visit("ceiling", 3.0, 3.0, 30 * MIB, source=buffer), visit("ceiling", 0.5, 0.5, 10 * MIB)
    found = Limits([row, own, small], "llc", None).fields(row)
    assert found["bound_ms"] == pytest.approx(0.5)
    full = visit("variant", 4.0, 4.0, 31 * MIB, "event", source=buffer)
    assert Limits([full, own, small], "dram", None).fields(full)["bound_ms"] == pytest.approx(3.1)


def test_what_work_items_ask_for_sets_no_bound() -> None:
    known = profile(l1=Ceiling(1e-3, "GB/s", "reread"), float32=Ceiling(1e9, "GFLOP/s", "fma"))
    row = visit("variant", 1.0, 1.0, MIB, "event", bytes={"requested": 1e12}, flops=1e3)
    found = Limits([row, visit("ceiling", 0.5, 0.5, MIB)], "llc", known).fields(row)
    assert (found["bound_by"], found["next_by"]) == ("llc", "float32")
    assert found["uncached_ms"] > 1e5


@pytest.mark.parametrize("name", ["fetch", "fetch.linear", "image", "local", "constant"])
def test_on_a_cpu_only_arithmetic_and_memory_are_ceilings(name: str) -> None:
    known = profile(**{name: Ceiling(1.0, "G/s", "image2d"), "taps": Ceiling(1.0, "G/s", "taps")})
    work: Any = {"special": {name: 1e9, "taps": 2e9}, "bytes": {name: 1e9}}
    assert bounds.resources(work, "float32", known, "cpu") == pytest.approx({"taps": 2e3})
    assert name in bounds.resources(work, "float32", known, "gpu")


def test_the_share_of_blocks_is_their_median() -> None:
    blocks = [
        {
            "pct_bound": share,
            "bound_ms": 1.0,
            "bound_by": "dram",
            "next_by": None,
            "pct_next": None,
            "uncached_ms": None,
        }
        for share in (96, 99, 101, 103, 104, 105)
    ]
    found = over_blocks(blocks)  # type: ignore[arg-type]
    assert found["pct_lo"] <= 100 < found["pct_bound"]
    assert over_blocks([]) == {}


def test_what_comes_next_is_of_the_blocks_of_the_same_bound() -> None:
    """Three resources that are close: no block is bound by memory and by memory next."""
    seen = [("dram", "l1", 80.0)] * 4 + [("l1", "dram", 43.0)] * 3 + [("llc", "dram", 43.0)] * 3
    kept = {"pct_bound": 90.0, "bound_ms": 1.0, "uncached_ms": None, "pct_uncached": None}
    blocks: Any = [kept | {"bound_by": first, "next_by": second, "pct_next": share} for first, second, share in seen]
    found = over_blocks(blocks)
    assert (found["bound_by"], found["next_by"], found["pct_next"]) == ("dram", "l1", 80.0)
    now, earlier = audit_bounds.over_blocks(blocks)
    assert now == {name: found[name] for name in now}  # type: ignore[literal-required]
    assert (earlier["bound_by"], earlier["next_by"], earlier["pct_next"]) == ("dram", "dram", 43.0)
