"""Levels that small sums take on GPUs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, Device
from gpuopt import remembered as remembered_module
from gpuopt.configuration import complete
from gpuopt.resolution import Found
from gpuopt.workloads.gem import choice
from gpuopt.workloads.gem.choice import for_size, size_class
from gpuopt.workloads.gem.pairs import Scene

H200 = cast(Device, SimpleNamespace(compute_units=132, type="gpu"))
RECORD = Configuration("tiled", DISTANCE=0, LOCAL=256, VERTICES=4, TILE=1024, UNROLL=4, RSQRT=2)


def levels(atoms: int, points: int, record: Configuration = RECORD) -> tuple[int, ...]:
    found = for_size(record, H200, atoms, points).parameters
    return tuple(found[name] for name in ("TILE", "VERTICES", "LOCAL"))


def test_small_sums_have_work_for_each_unit() -> None:
    for atoms, points in ((1000, 2000), (100, 5000), (5000, 100), (20000, 3000)):
        tile, vertices, local = levels(atoms, points)
        assert -(-atoms // tile) * -(-points // (local * vertices)) >= 132
    assert levels(1, 1) == levels(10, 63) == (64, 1, 64)


def test_large_ones_keep_the_record() -> None:
    assert levels(16384, 65536) == levels(300_000, 500_000) == (1024, 4, 256)
    assert for_size(RECORD, cast(Device, SimpleNamespace(compute_units=2, type="cpu")), 10, 10) == RECORD
    assert for_size(Configuration("basic"), H200, 10, 10) == Configuration("basic")
    of_four = Configuration("tiled", RSQRT=4)  # roots of four vertices
    assert for_size(of_four, H200, 10, 10) == of_four


def test_parts_are_counted() -> None:
    few = Configuration("tiled", LOCAL=512, VERTICES=4, TILE=1024, PARTS=2)
    _, vertices, local = levels(100_000, 8000, few)
    assert 2 * -(-8000 // (local * vertices)) >= 132
    alone = Configuration("tiled", LOCAL=512, VERTICES=4, TILE=1024, PARTS=1)
    assert levels(1000, 2000, alone)[0] == 1024


def test_a_plain_call_takes_what_a_study_says(any_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, points = np.random.default_rng(1), np.float32([[0, 0, 30], [0, 30, 0]])
    atoms = draw.uniform(-9, 9, (30, 3)).astype(np.float32), np.ones(30, np.float32), np.full(30, 1.5, np.float32)
    taken: list[Configuration] = []
    run = Scene.run
    monkeypatch.setattr(Scene, "run", lambda scene, one, *rest: (taken.append(one), run(scene, one, *rest))[1])
    problem = gpuopt.problems.gem(atoms, points, size=25, device=any_device)
    shipped = Configuration("tiled", LOCAL=256, VERTICES=4, TILE=1024)
    for users, record in ((False, shipped), (True, Configuration("tiled", TILE=256, VERTICES=2, LOCAL=128))):
        remembered_module._chosen.clear()
        monkeypatch.setattr(choice, "found", lambda *asked, _as=(record, users): Found(_as[0], "made up", _as[1]))
        monkeypatch.setattr(choice, "resolve", lambda *asked, _as=record: _as)
        gpuopt.gem(atoms, points, electrostatic_size=25, device=any_device)
        assert complete("gem", taken[-1]) == problem.plain(any_device)
        assert not users or taken[-1] == complete("gem", record)
    remembered_module._chosen.clear()


def test_sizes_of_a_class_take_one_configuration() -> None:
    for low, high in ((512, 1023), (1024, 2047)):
        assert size_class(low, low) == size_class(high, high)
        assert levels(low, low) == levels(high, high)


@pytest.mark.parametrize(("atoms", "points"), [(1, 1), (70, 130), (1000, 2000), (3000, 500)])
def test_its_levels_compute_the_same(device: gpuopt.Device, atoms: int, points: int) -> None:
    draw = np.random.default_rng(atoms)
    molecule = [x.astype(np.float32) for x in (draw.uniform(-9, 9, (atoms, 3)), draw.normal(size=atoms))]
    directions = draw.normal(size=(points, 3))
    places = (20 * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    radius = np.full(atoms, 1.5, np.float32)
    wide = [x.astype(np.float64) for x in (*molecule, radius)]
    want = gpuopt.gem(wide, places.astype(np.float64), electrostatic_size=18, device=device) if device.fp64 else None
    record = Configuration("tiled", LOCAL=128, VERTICES=4, TILE=1024)
    found = gpuopt.gem(
        (*molecule, radius), places, electrostatic_size=18, variant=for_size(record, H200, atoms, points), device=device
    )
    plain = gpuopt.gem((*molecule, radius), places, electrostatic_size=18, device=device)
    np.testing.assert_allclose(plain, found, rtol=1e-4, atol=1e-4 * np.abs(found).max())
    if want is not None:
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5 * np.abs(want).max())
