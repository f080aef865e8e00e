"""Ceilings: the room they take, kernels that are wrong, the clock's step and the caches, on made-up devices."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import DeviceMemoryError, MismatchError, _core, host_memory
from gpuopt.lab.device import bandwidth, bounds, caches
from gpuopt.lab.device.bandwidth import MIB, BandwidthTest
from gpuopt.lab.device.caches import CacheSize
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.rows import audit_rules
from gpuopt.lab.timing import samplers

GIB = 1 << 30


@dataclasses.dataclass(frozen=True)
class Card:
    name: str = "Made Up 1"
    type: str = "gpu"
    index: int = 0
    global_bytes: int = 4 * GIB
    max_alloc_bytes: int = 1 * GIB
    allocated_bytes: int = 0
    unified_memory: bool = False
    timer_ns: int = 1000


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    remembered = (caches.last_level_cache, bandwidth.clock_step_ns)
    for cached in remembered:
        cached.cache_clear()
    yield
    for cached in remembered:
        cached.cache_clear()


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    made = Card()
    monkeypatch.setattr(_core, "devices", lambda: [made])
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 100 * GIB)
    return made


def test_ceilings_leave_room_for_what_is_there(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bandwidth.affordable_bytes(card) == GIB  # type: ignore[arg-type]
    held = dataclasses.replace(card, allocated_bytes=3 * GIB)
    assert bandwidth.affordable_bytes(held) == pytest.approx(0.4 * GIB, rel=0.01)  # type: ignore[arg-type]
    assert bandwidth.affordable_bytes(dataclasses.replace(card, allocated_bytes=5 * GIB)) == 0  # type: ignore[arg-type]
    monkeypatch.setattr(host_memory, "free_bytes", lambda: GIB)
    assert bandwidth.affordable_bytes(dataclasses.replace(card, type="cpu")) == pytest.approx(0.2 * GIB, rel=0.01)  # type: ignore[arg-type]


class Buffers:
    """Stands for buffers on a device that gives no more than ``most`` bytes in all; notes what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: float) -> None:
        self.asked: list[int] = []

        def init(test: Any, device: Any, footprint_bytes: int, notes: list[str] | None = None, seed: int = 0) -> None:
            self.asked.append(footprint_bytes)
            if 2 * footprint_bytes > most:
                raise DeviceMemoryError("no room")
            test.footprint_bytes, test.notes = footprint_bytes, notes

        monkeypatch.setattr(BandwidthTest, "__init__", init)


def test_a_footprint_is_clamped_and_the_note_says_so(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    buffers, notes = Buffers(monkeypatch, 1.5 * GIB), []
    assert BandwidthTest.fitting(card, 3 * GIB, notes).footprint_bytes == GIB // 2
    assert buffers.asked == [GIB, GIB // 2]
    assert notes == [
        "bandwidth was measured over 536.9 MB instead of 3221 MB: no more fits beside what is in the memory"
    ]
    notes.clear()
    assert BandwidthTest.fitting(card, GIB // 4, notes).footprint_bytes == GIB // 4
    assert notes == []
    Buffers(monkeypatch, 0)
    with pytest.raises(DeviceMemoryError):
        BandwidthTest.fitting(card, GIB, notes)


def reads(monkeypatch: pytest.MonkeyPatch, cache_bytes: int, gone: int = -1) -> list[int]:
    """Makes up a memory of 100 GB/s behind a cache of 1000 GB/s; working sets of ``gone`` bytes cannot be had."""
    sizes: list[int] = []

    def candidates(self: Any, kind: str = "") -> Iterator[Any]:
        size = self.footprint_bytes
        sizes.append(size)
        if size == gone:
            raise DeviceMemoryError("no room for them")
        yield SimpleNamespace(variant="read"), None, 1000.0 if size <= cache_bytes else 100.0

    monkeypatch.setattr(BandwidthTest, "candidates", candidates)
    return sizes


def test_the_cache_is_looked_for_within_the_memory(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Buffers(monkeypatch, 1e12)
    monkeypatch.setattr(_core, "devices", lambda: [dataclasses.replace(card, max_alloc_bytes=300 * MIB)])
    sizes = reads(monkeypatch, 32 * MIB, gone=256 * MIB)
    found = caches.last_level_cache(0)
    assert max(sizes) == 256 * MIB
    assert found.bytes == 32 * MIB
    assert found.notes == ("the cache was not looked for with 256 MiB: no room for them",)


def test_what_is_unknown_is_hot_and_told(card: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, notes = dataclasses.replace(card, type="cpu"), []
    monkeypatch.setattr(_core, "devices", lambda: [cpu])
    monkeypatch.setattr(caches, "llc_bytes", lambda: None)
    assert caches.cache_state(cpu, 100 * GIB, notes) == "hot"
    assert "last-level cache is unknown" in notes[0]
    assert bounds.bounding_memory(cpu, MIB, "hot") == "dram"


@pytest.mark.parametrize(
    ("size", "footprint", "state"),
    [(32 * MIB, 255 * MIB, "hot"), (32 * MIB, 256 * MIB, "large"), (0, 63 * MIB, "hot"), (0, 64 * MIB, "large")],
)
def test_large_is_eight_times_the_cache(
    card: Any, monkeypatch: pytest.MonkeyPatch, size: int, footprint: int, state: str
) -> None:
    monkeypatch.setattr(caches, "last_level_cache", lambda index: CacheSize(size))
    assert caches.cache_state(card, footprint, []) == state


@pytest.mark.parametrize("names", [("read", "copy", "copy"), ("read_chunks", "copy_chunks")])
def test_a_flush_copies_and_reads_twice_the_cache(
    card: Any, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    buffers, log = Buffers(monkeypatch, 1e12), []

    def candidates(self: Any, kind: str = "") -> Iterator[Any]:
        for name in names:
            yield SimpleNamespace(variant=name), SimpleNamespace(run=lambda name=name: log.append(name)), 1.0

    monkeypatch.setattr(BandwidthTest, "candidates", candidates)
    monkeypatch.setattr(caches, "last_level_cache", lambda index: CacheSize(32 * MIB))
    flush = caches.flusher(card, [])
    assert buffers.asked == [4 * 32 * MIB]  # a copy reads half of them and writes as much
    assert log == []
    flush()
    assert log == [names[1], names[0]]  # last what leaves no dirty line


def test_a_wrong_ceiling_kernel_is_told(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    test = BandwidthTest(any_device, 1 << 16, notes)
    wrong, *right = bandwidth.family(any_device)
    check = BandwidthTest._check

    def failing(self: BandwidthTest, configuration: Any) -> None:
        if configuration == wrong:
            raise MismatchError("its sums are off")
        check(self, configuration)

    monkeypatch.setattr(BandwidthTest, "_check", failing)
    found = [configuration for configuration, *_ in test.candidates()]
    assert found
    assert set(found) <= set(right)
    assert notes == [f"the bandwidth kernel {wrong} is wrong here and was left out: its sums are off"]


@pytest.mark.parametrize(
    ("times_ns", "in_batches_ns", "step"),
    [
        ([3200, 3232, 3200, 3296], 0, 32.0),
        ([3200] * 4, 0, 1000.0),
        ([], 0, 1000.0),  # no kernel runs
        ([0, 0], 0, samplers.NO_TIMER),
        ([0, 0], 10, 1000.0),  # steps longer than a kernel
        ([3200, -3200], 10, samplers.NO_TIMER),
    ],
)
def test_the_clocks_step_is_seen_and_not_believed(
    card: Any, monkeypatch: pytest.MonkeyPatch, times_ns: list[int], in_batches_ns: int, step: float
) -> None:
    Buffers(monkeypatch, 1e12)

    def sample(count: int, batch: int = 1) -> dict[str, list[float]]:
        return {"device_ms": [time * 1e-6 for time in (times_ns if batch == 1 else [in_batches_ns] * count)]}

    def any_plan(self: BandwidthTest) -> Any:
        if not times_ns:
            raise gpuopt.Error("no bandwidth kernel runs")
        return SimpleNamespace(sample=sample)

    monkeypatch.setattr(BandwidthTest, "any_plan", any_plan)
    assert bandwidth.clock_step_ns(0) == step
    assert bool(bandwidth.timer_notes(card)) is (step == samplers.NO_TIMER)


def test_what_tensor_cores_do_is_bounded_by_them() -> None:
    """Three products of fp16 for one of fp32, on either dtype: the dtype's own multiply-adds have nothing to do."""
    rates = {"float32": 5e4, "float64": 2.5e4, "mma_fp16": 6e5, "native_rsqrt": 4e3}
    ceilings = {name: Ceiling(rate, "GFLOP/s", name) for name, rate in rates.items()}
    profile = Profile("A card", "1.0", "P", "2026-11-21", "0", ceilings)
    work = {"flops": 1e12, "special": {"mma_fp16": 3e12, "native_rsqrt": 4e9, "issue": 1e10}}
    issue = {"float32": 0.4, "float64": 0.8}
    assert bounds.resources(work, "float32", profile) == pytest.approx(
        {"mma_fp16": 5.0, "native_rsqrt": 1.0, "issue": issue["float32"]}
    )
    assert bounds.resources(work, "float64", profile) == pytest.approx({"mma_fp16": 5.0, "issue": issue["float64"]})
    unmeasured = {**work, "special": {"mma_tf32": 3e12}}
    assert bounds.resources(unmeasured, "float32", profile) == {}
    assert bounds.resources({**work, "special": {}}, "float32", profile) == pytest.approx({"float32": 20.0})


def test_additions_beside_multiply_adds_raise_what_is_issued_in_float32() -> None:
    """Zen 5 issues two additions beside two multiply-adds: half of the multiply-adds' rate was no bound there."""
    work = {"special": {"issue": 1e10}}
    for beside, ms in ((226.0, 1e4 / 226), (80.0, 1e4 / 115), (None, 1e4 / 115)):
        rates = {"float32": (230.0, "GFLOP/s"), "float64": (115.0, "GFLOP/s")}
        rates |= {"issue": (beside, "G issue/s")} if beside else {}
        ceilings = {name: Ceiling(rate, unit, name) for name, (rate, unit) in rates.items()}
        profile = Profile("A CPU", "1.0", "P", "2026-11-24", "0", ceilings)
        assert bounds.resources(work, "float32", profile) == pytest.approx({"issue": ms})
        assert bounds.resources(work, "float64", profile) == pytest.approx({"issue": 1e4 / 57.5})
        row = {"bytes": None, "special": work["special"], "flops": 0, "dtype": "float32", "device_type": "cpu"}
        assert audit_rules.resources(row, rates) == pytest.approx({"issue": ms})


def test_bandwidth_kernels_move_what_they_say(device: gpuopt.Device) -> None:
    test = BandwidthTest(device, 1_000_000)
    for configuration in bandwidth.family(device):
        plan = test.prepare(configuration)
        test.target.fill_bytes(0xFF)
        plan.run()
        written = not np.isnan(test.target.to_numpy()).all()
        assert written == configuration.variant.startswith("copy")
