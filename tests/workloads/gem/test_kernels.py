"""What the harness does not ask of GEM's kernels: that a plan says what it does, and does it again."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from workloads.gem.cases import EVERYWHERE, LEAN, SALT, scene


def test_a_plan_says_what_it_does(device: gpuopt.Device) -> None:
    atoms, points = 1029, 107
    for configuration in LEAN:
        out = _core.empty((points,), np.dtype(np.float32), device)
        work = scene(SALT, atoms, points, "float32", EVERYWHERE).prepare(complete("gem", configuration), out).work
        assert work["special"]["issue"] >= 8 * atoms * points
        assert work["bytes"]["dram"] >= 4 * (4 * atoms + 4 * points)


def test_a_plan_repeats(device: gpuopt.Device) -> None:
    """Sums in global memory begin anew: the second run gives the same bits."""
    for variant in ("pairs", "wide"):
        given = scene(SALT, 1029, 107, "float32", EVERYWHERE)
        out = _core.empty((107,), np.dtype(np.float32), device, True)
        plan = given.prepare(complete("gem", Configuration(variant)), out)
        plan.run()
        once = out.to_numpy()
        plan.run()
        np.testing.assert_array_equal(out.to_numpy(), once)


def test_the_largest_work_group_is_the_devices(device: gpuopt.Device) -> None:
    """A power of two that the device allows and, where work-items hold local memory, that this has room for. Tiles,
    unrolled loops and the row say the number that it became."""
    given = scene(SALT, 1029, 107, "float32", EVERYWHERE)
    for levels, bytes_an_item in (
        ({}, 0),
        ({"VERTEX": 1}, 32),
        ({"ATOMS": 1, "UNROLL": 4}, 20),
        ({"VERTEX": 1, "ATOMS": 1}, 52),
    ):
        out = _core.empty((107,), np.dtype(np.float32), device)
        plan = given.prepare(complete("gem", Configuration("pairs", LOCAL=0, **levels)), out)
        kernel = plan.kernels[plan.main_step]
        (items,) = kernel["local_size"][:1]
        most = device.max_work_group_size
        if bytes_an_item:
            most = min(most, device.local_bytes // bytes_an_item)
        assert items == 2 ** int(np.log2(most))
        assert f"-DLOCAL={items} " in kernel["options"]
        assert np.prod(kernel["global_size"]) == -(-107 // items) * items


def test_an_image_of_two_dimensions_is_about_square(device: gpuopt.Device) -> None:
    if not device.image_support:
        pytest.skip(f"{device.name} has no images")
    for atoms, width in ((1, 4), (37, 8), (1029, 64)):  # texels: 16, 48, 1040
        out = _core.empty((5,), np.dtype(np.float32), device)
        given = scene(SALT, atoms, 5, "float32", EVERYWHERE)
        plan = given.prepare(complete("gem", Configuration("pairs", ATOMS=4, VECTOR=4)), out)
        assert f"-DLOG_WIDTH={int(np.log2(width))}" in plan.kernels[plan.main_step]["options"]
