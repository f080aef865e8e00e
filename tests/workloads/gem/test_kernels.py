"""What the harness does not ask of GEM's kernels: that a plan says what it does, and does it again."""

from __future__ import annotations

import numpy as np

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
