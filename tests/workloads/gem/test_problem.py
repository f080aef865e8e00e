"""GEM problems, their factorial, their whole calls, and the plain loops held beside them."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, UnsupportedError, lab, problems
from gpuopt.configuration import complete
from gpuopt.lab.timing.verification import verify_awkward
from gpuopt.molecule import with_depth
from gpuopt.workloads.gem import native
from gpuopt.workloads.gem.optimizations import OPTIMIZATIONS, together
from gpuopt.workloads.gem.peers import peers
from gpuopt.workloads.gem.problem import CALL, CALLED, call_of, factorial, staged
from gpuopt.workloads.gem.study import WORKLOAD


def test_problems_of_other_options_have_other_names() -> None:
    """Rows are resumed by the problem's name and sizes: none may pass for another's."""
    molecule, surface = problems.globule(50)
    options = [
        {},
        {"salt": 0.1},
        {"salt": 0.2},
        {"projection": 1.0},
        {"phi_type": "coulomb"},
        {"phi_type": "reaction"},
        {"epsilon_in": 4},
        {"epsilon_out": 40},
        {"size": 9.0},
    ]
    made = [problems.gem(molecule, surface, **given) for given in options]
    made.append(problems.gem(*problems.globule(50, seed=1)))
    assert len({problem.name for problem in made}) == len(made)
    assert problems.gem(molecule, surface).name == made[0].name


def test_forms() -> None:
    molecule, surface = problems.globule(50)
    for given, form in (
        ({}, "K0"),
        ({"salt": 0.1}, "K1"),
        ({"salt": 0.1, "projection": 3.0}, "K2"),
        ({"projection": -1.0}, "K3"),
        ({"salt": 0.1, "projection": -1.0}, "K3-salt"),
        ({"salt": 0.1, "phi_type": "coulomb"}, "K0"),
    ):
        assert problems.gem(molecule, surface, **given).input_properties == {"form": form}  # type: ignore[arg-type]


def test_a_sample_of_the_points_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["gpuopt.workloads.gem.problem"], "ALL_PAIRS", 5000.0)
    molecule, surface = problems.globule(100)
    problem = problems.gem(molecule, surface)
    assert problem.checked is not None
    assert len(problem.checked) == len(problem.reference) == 50
    assert np.array_equal(problem.seen(np.arange(len(surface))), problem.checked)


def test_the_factorial_has_every_cell_once() -> None:
    cells, tiles = factorial(), staged()
    assert len(set(cells)) == len(cells) == 504 + 2
    assert len(set(tiles)) == len(tiles) == 112
    assert not set(cells) & set(tiles)
    assert sum(cell.parameters["SPECIALIZED"] for cell in cells) == 252
    assert {cell.parameters["LOCAL"] for cell in cells} == {0, 64}
    # Every parameter of the paper meets every other: all pairs of levels that do not exclude each other.
    crossed = [cell.parameters for cell in cells]
    for one, other in product(OPTIMIZATIONS, OPTIMIZATIONS):
        both = together([one, other])
        assert both is None or any(both.items() <= levels.items() for levels in crossed)


def test_subjects_of_a_study(any_device: gpuopt.Device) -> None:
    for subject, name, sizes in (
        ("40", "globule_40", {"atoms": 40}),
        ("40x300", "capsid_40x300", {"atoms": 40, "points": 300}),
    ):
        problem = WORKLOAD.problem([subject], "float32", any_device)
        assert problem.name.startswith(f"{name}_")
        assert sizes.items() <= problem.sizes.items()
    assert set(WORKLOAD.designs) == {"factorial", "staged"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_sums_are_allowed_what_they_lose(any_device: gpuopt.Device, dtype: str) -> None:
    """A thousand terms of one sign, one after the other, lose more than 1e-6 in float32, however exact each is."""
    if dtype == "float64" and not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    problem = problems.gem(*problems.globule(60, dtype=dtype))
    for configuration in (
        Configuration("pairs", SPECIALIZED=1, FORM=1, RSQRT=0),
        Configuration("pairs", SPECIALIZED=1, FORM=1, RSQRT=3),
        Configuration("tiled", RSQRT=0, UNROLL=1, VERTICES=1, PARTS=1, BLOCKED=0),
        Configuration("tiled", RSQRT=0, UNROLL=1, VERTICES=1, PARTS=1, TILE=1024),
    ):
        assert verify_awkward(problem, complete("gem", configuration), any_device) == []


def test_what_is_allowed_grows_with_the_additions_in_a_row() -> None:
    problem = problems.gem(*problems.globule(3000))

    def allowed(configuration: Configuration) -> float:
        return float((problem.tolerance_for(configuration) / problem.tolerance).max())

    assert allowed(Configuration("tiled", TILE=64)) == pytest.approx(1)
    assert allowed(Configuration("tiled", TILE=256)) < allowed(Configuration("wide")) < 2.5
    running = allowed(Configuration("tiled", BLOCKED=0))
    assert running == allowed(Configuration("pairs", SPECIALIZED=1, FORM=1)) == pytest.approx(4.9, rel=0.01)
    assert allowed(Configuration("pairs")) == pytest.approx(running + 3)


def test_problems_inside_have_depths() -> None:
    molecule, surface = problems.globule(60)
    made = problems.gem(molecule, surface, projection=-1.0).inputs["molecule"]
    assert molecule.depth is None
    np.testing.assert_array_equal(made.depth, with_depth(molecule, surface).depth)


def test_only_exact_distances_become_a_default() -> None:
    problem = problems.gem(*problems.globule(50))
    assert problem.tunable(Configuration("tiled", DISTANCE=0))
    assert not problem.tunable(Configuration("tiled", DISTANCE=2))


@pytest.mark.skipif(native.compiler() is None, reason="no C++ compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_plain_loops(any_device: gpuopt.Device, dtype: str) -> None:
    if any_device.type != "cpu":
        pytest.skip("the loops stand beside CPUs")
    problem = problems.gem(*problems.globule(80, dtype=dtype))
    loops = [peer for peer in peers(any_device, []) if peer.name.startswith("C++ loop")]
    assert [loop.name for loop in loops] == ["C++ loop", "C++ loop, 1 thread"]
    assert loops[1].platform.endswith(", 1 thread")
    for loop in loops:
        result = loop.fetch(loop.run(loop.prepare(problem)))
        assert (np.abs(result - problem.reference) <= problem.tolerance).all()
        with pytest.raises(UnsupportedError, match="no salt"):
            loop.prepare(problems.gem(*problems.globule(80, dtype=dtype), salt=0.1))
    assert float(np.float64(1e-310) * 0.5) > 0  # denormals live on


def test_whole_calls_are_rows(any_device: gpuopt.Device, brief: str) -> None:
    """Of the paper's kernels too, checked as these are."""
    problem = problems.gem(*problems.globule(60))
    names = [CALL, *map(call_of, CALLED)]
    assert list(problem.calls) == names
    assert names[1] == "gpuopt.gem(molecule, surface, variant='paper:basic')"
    study = lab.sweep(problem, ["paper:basic"], protocol=brief, device=any_device, peers=())
    rows = {row["variant"]: row for row in study.summary if row["role"] == "call"}
    assert list(rows) == names
    images = {"ok"} if any_device.image_support else {"unsupported"}
    assert [rows[name]["status"] for name in names[:2]] == ["ok", "ok"]
    assert rows[call_of("paper:amd_best")]["status"] in images
    assert all(row["max_abs"] <= row["tol"] for row in rows.values() if row["status"] == "ok")
    assert rows[names[1]]["tol"] > rows[names[0]]["tol"]  # formulas as written round more


def test_a_sweep_counts_pairs(any_device: gpuopt.Device, brief: str) -> None:
    problem = problems.gem(*problems.globule(60))
    study = lab.sweep(problem, ["paper:basic", "tiled", "wide"], protocol=brief, device=any_device, peers=())
    assert {row["status"] for row in study.summary} == {"ok"}
    for row in study.summary:
        assert row["counted"] == problem.counted
        assert row["gop_s"] == pytest.approx(problem.counted["pair"] / row["median_ms"] * 1e-6)
    text = study.to_text(160)
    assert "G pair/s" in text
