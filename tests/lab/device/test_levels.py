"""Levels found in made working-set sweeps, with the noise, the gradual knees and the mishaps that real ones have."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpuopt import ParameterError
from gpuopt.lab.device import levels
from gpuopt.lab.device.levels import Level

KIB, MIB, GIB = 2**10, 2**20, 2**30
SEEDS = range(20)
GPU = ([31000.0, 9000.0, 3900.0], [192.0 * KIB, 40.0 * MIB])
CPU = ([400.0, 150.0, 60.0, 22.0], [48.0 * KIB, 2.0 * MIB, 32.0 * MIB])
SHARED = ([400.0, 150.0, 22.0], [48.0 * KIB, 2.0 * MIB])  # others hold the last level's cache
H200 = [(6e6, 10200.0), (9e6, 10200.0), (48e6, 7500.0), (63e6, 4500.0), (128e6, 3900.0), (256e6, 3900.0)]


def sizes(first: float = 8 * KIB, last: float = GIB, an_octave: int = 4) -> np.ndarray:
    return np.exp2(np.arange(math.log2(first), math.log2(last) + 1e-9, 1 / an_octave))


def curve(at: np.ndarray, device: tuple[list[float], list[float]], knee: str) -> np.ndarray:
    """Rates that fall at once, in a straight line to twice the cache, or as a cache that serves C/W of the loads."""
    rates, caches = device
    if knee == "partial":
        seconds, served = np.zeros(at.size), np.zeros(at.size)
        for rate, cache in zip(rates, caches, strict=False):
            held = np.minimum(1.0, cache / at)
            seconds += np.maximum(0.0, held - served) / rate
            served = np.maximum(served, held)
        return np.asarray(1 / (seconds + (1 - served) / rates[-1]))
    logs = np.full(at.size, math.log(rates[0]))
    for before, after, cache in zip(rates, rates[1:], caches, strict=False):
        down = np.log2(at / cache)
        share = (down > 0).astype(float) if knee == "step" else np.clip(down, 0, 1)
        logs += math.log(after / before) * share
    return np.exp(logs)


def noisy(rates: np.ndarray, noise: float, seed: int) -> np.ndarray:
    return rates * np.exp(noise * np.random.default_rng(seed).standard_normal(rates.size))


def rightly(found: list[Level], device: tuple[list[float], list[float]]) -> bool:
    rates, caches = device
    if len(found) != len(rates) or found[-1].bytes is not None:
        return False
    knees = [level.bytes or 0.0 for level in found[:-1]]
    return all(1 / 1.35 < knee / cache < 1.35 for knee, cache in zip(knees, caches, strict=True)) and all(
        1 / 1.25 < level.rate_gb_s / rate < 1.25 for level, rate in zip(found, rates, strict=True)
    )


@pytest.mark.parametrize("an_octave", [4, 8])
@pytest.mark.parametrize("knee", ["step", "ramp", "partial"])
@pytest.mark.parametrize("memory", [GPU, CPU, SHARED], ids=["gpu", "cpu", "shared"])
def test_levels_are_found_in_noise(memory: tuple[list[float], list[float]], knee: str, an_octave: int) -> None:
    at = sizes(an_octave=an_octave)
    clean = curve(at, memory, knee)
    for noise in (0.01, 0.03) if knee == "partial" else (0.01, 0.03, 0.05):
        wrong = [s for s in SEEDS if not rightly(levels.find(zip(at, noisy(clean, noise, s), strict=True)), memory)]
        assert wrong == [], f"noise {noise}: seeds {wrong}"


@pytest.mark.parametrize("knee", ["step", "ramp"])
@pytest.mark.parametrize("memory", [GPU, CPU, SHARED], ids=["gpu", "cpu", "shared"])
def test_noise_of_a_tenth_costs_few_levels(memory: tuple[list[float], list[float]], knee: str) -> None:
    at = sizes()
    clean = curve(at, memory, knee)
    wrong = [s for s in SEEDS if not rightly(levels.find(zip(at, noisy(clean, 0.1, s), strict=True)), memory)]
    assert len(wrong) <= len(SEEDS) // 10


def test_the_h200_as_measured() -> None:
    cache, memory = levels.find(H200)
    assert cache.bytes is not None
    assert 40e6 < cache.bytes < 60e6
    assert cache.between == pytest.approx((48e6, 63e6))
    assert cache.rate_gb_s == pytest.approx(10200)
    assert (memory.bytes, memory.rate_gb_s) == (None, pytest.approx(3900))


@pytest.mark.parametrize("an_octave", [4, 8])
def test_the_h200_measured_densely(an_octave: int) -> None:
    at = sizes(MIB, GIB, an_octave)
    table = np.log([[size, rate] for size, rate in H200])
    clean = np.exp(np.interp(np.log(at), *table.T))
    for seed in SEEDS:
        found = levels.find(zip(at, noisy(clean, 0.02, seed), strict=True))
        assert len(found) == 2
        assert 40e6 < (found[0].bytes or 0) < 60e6


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.1])
def test_a_constant_curve_is_memory_alone(noise: float) -> None:
    at = sizes()
    for seed in SEEDS:
        (memory,) = levels.find(zip(at, noisy(np.full(at.size, 100.0), noise, seed), strict=True))
        assert memory.bytes is None
        assert memory.between is None
        assert memory.rate_gb_s == pytest.approx(100, rel=0.05)
        assert memory.lo <= memory.rate_gb_s <= memory.hi


@pytest.mark.parametrize("power", [-0.7, -0.4, 0.4])
def test_a_monotone_ramp_is_memory_at_its_far_end(power: float) -> None:
    at = sizes()
    clean = 20 * (at / at[-1]) ** power
    for seed in SEEDS:
        found = levels.find(zip(at, noisy(clean, 0.02, seed), strict=True))
        assert len(found) == 1
        assert found[0].rate_gb_s == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_a_point_off_the_curve_changes_nothing(factor: float) -> None:
    at = sizes()
    clean = curve(at, GPU, "ramp")
    for place in range(2, at.size - 2, 3):
        rates = noisy(clean, 0.02, place)
        rates[place] *= factor
        found = levels.find(zip(at, rates, strict=True))
        assert len(found) == 3, f"at {at[place]} bytes"


def test_a_dip_of_some_points_is_no_level() -> None:
    at = sizes()
    rates = curve(at, SHARED, "ramp")
    dip = (at > 200 * KIB) & (at < 450 * KIB)
    rates[dip] *= 0.6
    assert rightly(levels.find(zip(at, noisy(rates, 0.02, 0), strict=True)), SHARED)


def test_launches_that_cost_more_than_small_sets_are_no_level() -> None:
    at = sizes(64 * KIB)
    data = curve(at, ([9000.0, 3900.0], [40.0 * MIB]), "ramp")
    rates = 1 / (1 / data + 2e-4 * MIB / at)
    for seed in SEEDS:
        found = levels.find(zip(at, noisy(rates, 0.02, seed), strict=True))
        assert len(found) == 2
        assert (found[0].bytes or 0) == pytest.approx(40 * MIB, rel=0.35)


def test_a_sweep_that_ends_on_the_way_down_says_where_it_ended() -> None:
    at = sizes(8 * KIB, 3.5 * MIB)
    found = levels.find(zip(at, curve(at, SHARED, "ramp"), strict=True))
    assert [level.bytes is None for level in found] == [False, False, True]
    assert 22 < found[-1].rate_gb_s < 150


def test_intervals_are_those_of_the_points() -> None:
    at = sizes()
    memory = levels.find([(size, 100.0, 90.0, 105.0) for size in at])[0]
    assert (memory.rate_gb_s, memory.lo, memory.hi) == pytest.approx((100, 90, 105))


def test_few_points() -> None:
    assert levels.find([]) == []
    (one,) = levels.find([(MIB, 50.0)])
    assert (one.bytes, one.rate_gb_s, one.lo, one.hi) == (None, pytest.approx(50), pytest.approx(50), pytest.approx(50))
    assert len(levels.find([(MIB, 50.0), (2 * MIB, 51.0)])) == 1
    near, far = levels.find([(32 * KIB, 400.0), (GIB, 22.0)])
    assert 32 * KIB <= (near.bytes or 0) < GIB
    assert (near.between, far.bytes) == (pytest.approx((32 * KIB, GIB)), None)
    assert len(levels.find([(32 * KIB, 400.0), (64 * MIB, 380.0), (GIB, 22.0)])) == 2


def test_order_repeats_and_gaps_do_not_matter() -> None:
    at = sizes()
    rates = noisy(curve(at, GPU, "ramp"), 0.02, 1)
    points: list[tuple[float | None, ...]] = list(zip(at, rates, strict=True))
    straight = levels.find(points)
    shuffled = [points[i] for i in np.random.default_rng(0).permutation(len(points))]
    assert levels.find([*shuffled, *points]) == straight
    missing = [(float(size), None if i % 2 else math.nan) for i, size in enumerate(at + 1)]
    assert levels.find([*points, *missing]) == straight


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([(0, 5.0)], "points\\[0\\]: a working set of 0"),
        ([(MIB, 5.0), (math.nan, 5.0)], "points\\[1\\]: a working set of nan"),
        ([(MIB, -1.0)], "points\\[0\\]: a rate of -1"),
        ([(MIB, math.inf)], "a rate of inf"),
        ([(MIB, 1.0, 2.0)], "give \\(bytes, rate\\)"),
    ],
)
def test_what_is_no_point_is_named(points: list[tuple[float, ...]], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        levels.find(points)


def test_a_factor_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"closest: 0\.5"):
        levels.find(H200, closest=0.5)
