"""Plans that calls of ``gpuopt.gem`` leave for later ones: each call's numbers are its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Molecule, Surface, _core
from gpuopt.molecule import with_depth

SALT = {"salt": 0.15}
OPTIONS: list[dict[str, Any]] = [
    {},
    SALT,
    {"salt": 0.05},
    {"phi_type": "coulomb"},
    {"phi_type": "reaction"},
    {"epsilon_out": 20},
    {"compat": "opendwarfs"},
    {"nearest": 0.5},
    {"nearest": 0.25},
    {"constants": "legacy"},
    {"electrostatic_size": 9.0},
]


@pytest.fixture(autouse=True)
def nothing_kept(device: gpuopt.Device) -> Iterator[None]:
    _core.drop_kept(device)
    yield
    _core.drop_kept(device)


def scene(seed: int, atoms: int = 37, points: int = 53, order: int = 1) -> tuple[Molecule, Surface]:
    """Points in all three regions; ``order`` -1 reverses them."""
    random = np.random.default_rng(seed)
    xyz = random.uniform(-4, 4, (atoms, 3)).astype(np.float32)
    places = random.standard_normal((points, 3)).astype(np.float32)
    normals = places / np.linalg.norm(places, axis=1, keepdims=True)
    height = np.linspace(-2, 6, points, dtype=np.float32)[::order]
    surface = Surface((8 + height[:, None]) * normals, normals, height=np.ascontiguousarray(height))
    molecule = Molecule(xyz, random.uniform(-1, 1, atoms).astype(np.float32), np.full(atoms, 1.5, np.float32))
    return with_depth(molecule, Surface(8 * normals, normals)), surface


def test_a_repeated_call_makes_no_plan(device: gpuopt.Device) -> None:
    molecule, surface = scene(1)
    first = gpuopt.gem(molecule, surface, electrostatic_size=8, device=device)
    before = _core.kept_counts(device)
    np.testing.assert_array_equal(gpuopt.gem(molecule, surface, electrostatic_size=8, device=device), first)
    after = _core.kept_counts(device)
    made = {name: after[name] - before[name] for name in after}
    assert (made["plans_made"], made["plans_reused"], made["kernels_made"], made["buffers_made"]) == (0, 1, 0, 0)


@pytest.mark.parametrize("variant", [None, "pairs", "pairs(ATOMS=4)", "tiled", "tiled(PARTS=4)", "wide"])
def test_no_call_reads_what_another_left(device: gpuopt.Device, variant: str | None) -> None:
    """Scenes of one size, other sizes, other regions and other models, each as if nothing had been kept."""
    scenes = [scene(1), scene(2), scene(3, order=-1), scene(4, atoms=36), scene(5, points=52)]
    given = [
        (
            pair,
            {"electrostatic_size": 8.0, "device": device, "variant": variant and gpuopt.Configuration.parse(variant)}
            | more,
        )
        for pair in scenes
        for more in OPTIONS
    ]
    fresh = []
    for pair, options in given:
        _core.drop_kept(device)
        fresh.append(gpuopt.gem(*pair, **options))
    assert len({phi.tobytes() for phi in fresh}) > 40, "the calls differ"
    order = np.random.default_rng(6).permutation(len(given))
    for number in [*order, *order[::-1]]:
        pair, options = given[number]
        np.testing.assert_array_equal(gpuopt.gem(*pair, **options), fresh[number], err_msg=str(options))
        if number % 3 == 0:
            _core.poison_kept(device)


def test_threads_do_not_share_a_plan(device: gpuopt.Device) -> None:
    scenes = [scene(seed) for seed in range(4)]
    wanted = [gpuopt.gem(*pair, electrostatic_size=8, device=device) for pair in scenes]

    def is_right(number: int) -> bool:
        phi = gpuopt.gem(*scenes[number % 4], electrostatic_size=8, device=device)
        return np.array_equal(phi, wanted[number % 4])

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(is_right, range(80)))
