"""The potential of a molecule as its users call it: values, what must not matter, and what may be given."""

from __future__ import annotations

import concurrent.futures
import itertools
from typing import Any

import numpy as np
import pytest

import gpuopt
from golden_gem import CHARGE, GOLDEN, NORMALS, SIZE, XYZ
from gpuopt import Configuration, Molecule, Surface, papers, problems
from gpuopt.configuration import complete
from gpuopt.resolution import resolve
from gpuopt.workloads.gem.pairs import Scene
from gpuopt.workloads.gem.solvation import Model
from workloads.gem.calls import SALT, assert_close, ball, potential, references


def small(dtype: str = "float64") -> tuple[Molecule, Surface]:
    """The molecule of the golden values: atoms lie at SIZE less their depth from the centre."""
    depth = SIZE - np.linalg.norm(XYZ, axis=1)
    return Molecule(XYZ, CHARGE, depth=depth).astype(dtype), Surface(SIZE * NORMALS, NORMALS).astype(dtype)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_golden_values(device: gpuopt.Device, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    molecule, surface = small(dtype)
    for projection, salt, options, expected in GOLDEN:
        got = potential(
            molecule, surface, projection=projection, salt=salt, constants="legacy", device=device, **options
        )
        assert got.dtype == dtype
        assert got.shape == (3,)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 if dtype == "float32" else 5.01e-7)


@pytest.mark.parametrize("options", [{}, SALT, {"phi_type": "reaction"}, {"compat": "opendwarfs"}], ids=str)
def test_heights_mix_the_regions(device: gpuopt.Device, options: dict[str, Any]) -> None:
    """A grid's points in every order are those of each region by itself."""
    heights = (-0.5, 3.0, 1.0, -7.0, 0.25, 2.5, 0.0)
    molecule, surface = ball(heights=heights)
    together = potential(molecule, surface, device=device, **options)
    expected, magnitude = references(molecule, surface, **options)
    assert_close(together, expected, magnitude)
    regions = Model.of(size=SIZE).regions(SIZE + np.asarray(surface.height, dtype=float))
    assert set(regions) == {1, 2, 3}
    for region in (1, 2, 3):
        rows = regions == region
        assert surface.normals is not None
        assert surface.height is not None
        part = Surface(surface.points[rows], surface.normals[rows], height=surface.height[rows])
        alone = potential(molecule, part, device=device, **options)
        assert_close(alone, together[rows].astype(float), magnitude[rows])


def test_a_projection_is_a_height_along_the_normals(any_device: gpuopt.Device) -> None:
    for projection in (-1.5, 1.0, 3.5):
        molecule, surface = ball("float64")
        assert surface.normals is not None
        there = Surface(
            surface.points + projection * surface.normals, surface.normals, height=np.full(len(surface), projection)
        )
        got = potential(molecule, surface, projection=projection, salt=0.1, device=any_device)
        np.testing.assert_allclose(potential(molecule, there, salt=0.1, device=any_device), got, rtol=1e-12)


@pytest.mark.parametrize("phi_type", ["total", "reaction", "coulomb"])
def test_points_deeper_than_the_sphere(device: gpuopt.Device, phi_type: str) -> None:
    """A long molecule's surface may lie farther from its middle than the sphere's."""
    molecule, surface = ball(heights=(-9.9, -10.0, -10.25, -12.0))
    for salt in (0.0, 0.1):
        expected, magnitude = references(molecule, surface, phi_type=phi_type, salt=salt)
        assert np.isfinite(expected).all()
        assert_close(potential(molecule, surface, phi_type=phi_type, salt=salt, device=device), expected, magnitude)


def test_constants_and_media(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    for options in (
        {"epsilon_in": 4, "epsilon_out": 78.5, **SALT},
        {"constants": "legacy", **SALT},
        {"constants": {"coulomb": 1.0, "temperature": 310.0}, "salt": 0.5},
        {"ion_exclusion": 0.0, **SALT},
        {"ion_exclusion": 5.0, "projection": 3.0, **SALT},
        {"epsilon_in": 80, "epsilon_out": 80, "phi_type": "total"},
    ):
        got = potential(molecule, surface, device=any_device, **options)
        assert_close(got, *references(molecule, surface, **options))
    nothing = potential(molecule, surface, epsilon_in=80, epsilon_out=80, phi_type="reaction", device=any_device)
    assert np.abs(nothing).max() <= 1e-6


def test_the_electrostatic_size_is_taken_from_the_radii(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    size = gpuopt.electrostatic_size(molecule)
    own = gpuopt.gem(molecule, surface, device=any_device)
    np.testing.assert_array_equal(own, gpuopt.gem(molecule, surface, electrostatic_size=size, device=any_device))
    assert np.abs(own - potential(molecule, surface, device=any_device)).max() > 1e-3


# ---------------------------------------------------------------- what must not matter


def test_charges_are_linear_and_atoms_add_up(device: gpuopt.Device) -> None:
    heights = (-0.8, 0.0, 1.0, 3.0)
    (molecule, surface), half = ball(heights=heights), 41
    _, magnitude = references(molecule, surface, **SALT)
    whole = potential(molecule, surface, device=device, **SALT)
    depth = molecule.depth
    assert depth is not None
    doubled = Molecule(molecule.xyz, -2 * molecule.charge, depth=depth)
    assert_close(potential(doubled, surface, device=device, **SALT) / -2, whole.astype(float), magnitude)
    parts = [
        potential(
            Molecule(molecule.xyz[some], molecule.charge[some], depth=depth[some]), surface, device=device, **SALT
        )
        for some in (slice(half), slice(half, None))
    ]
    assert_close(parts[0] + parts[1], whole.astype(float), magnitude)
    neutral = Molecule(molecule.xyz, np.zeros_like(molecule.charge), depth=depth)
    assert not potential(neutral, surface, device=device, **SALT).any()


def test_place_direction_and_order_do_not_matter(device: gpuopt.Device) -> None:
    molecule, surface = ball(heights=(-0.8, 0.0, 1.0, 3.0))
    whole = potential(molecule, surface, device=device, **SALT)
    _, magnitude = references(molecule, surface, **SALT)
    depth, normals, height = molecule.depth, surface.normals, surface.height
    assert depth is not None
    assert normals is not None
    assert height is not None
    draw = np.random.default_rng(5)
    turn, _ = np.linalg.qr(draw.normal(size=(3, 3)))
    atoms, points = draw.permutation(len(molecule)), draw.permutation(len(surface))
    offset = np.array([400.0, -300.0, 200.0])  # A: what float32 keeps of coordinates there is 3e-5 A
    moved = Molecule(
        (molecule.xyz @ turn.T + offset)[atoms].astype(np.float32), molecule.charge[atoms], depth=depth[atoms]
    )
    there = Surface(
        (surface.points @ turn.T + offset)[points].astype(np.float32),
        (normals @ turn.T)[points].astype(np.float32),
        height=height[points],
    )
    got = potential(moved, there, device=device, **SALT)
    assert (np.abs(got - whole[points]) <= 1e-4 * magnitude[points]).all()
    assert_close(got, *references(moved, there, **SALT))


def test_devices_agree() -> None:
    molecule, surface = ball(heights=(-0.8, 0.0, 1.0, 3.0))
    _, magnitude = references(molecule, surface, **SALT)
    found = [potential(molecule, surface, device=device, **SALT) for device in gpuopt.devices()]
    for one, other in itertools.combinations(found, 2):
        assert_close(one, other.astype(float), magnitude)


def test_threads_share_a_device(device: gpuopt.Device) -> None:
    cases = [ball(seed=seed, points=50 + seed) for seed in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda case: potential(*case, device=device), cases))
    for case, result in zip(cases, results, strict=True):
        assert_close(result, *references(*case))


# ---------------------------------------------------------------- what may be given


def test_tuples_lists_and_points_alone(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    assert molecule.radius is not None
    expected = gpuopt.gem(molecule, surface, device=any_device)
    arrays = (molecule.xyz, molecule.charge, molecule.radius)
    for points in (surface.points, (surface.points,), [surface.points, surface.normals]):
        np.testing.assert_array_equal(gpuopt.gem(arrays, points, device=any_device), expected)
    lists = [array.tolist() for array in arrays]
    if any_device.fp64:
        wide = gpuopt.gem(lists, (surface.points.tolist(),), device=any_device)
        assert wide.dtype == np.float64
        np.testing.assert_allclose(wide, expected, atol=1e-4)
    salted = potential(arrays, (surface.points, surface.normals), device=any_device, **SALT)
    np.testing.assert_allclose(salted, references(molecule, surface, **SALT)[0], atol=1e-4)


def test_arrays_of_any_layout_are_read_and_kept(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    expected = potential(molecule, surface, device=any_device)
    strided = np.repeat(molecule.charge, 2)[::2]
    columns, points = np.asfortranarray(molecule.xyz), np.asfortranarray(surface.points)
    for array in (strided, columns, points):
        array.flags.writeable = False
    got = potential((columns, strided), points, device=any_device)
    np.testing.assert_array_equal(got, expected)


def test_one_atom_and_one_point(device: gpuopt.Device) -> None:
    got = potential(([[0.0, 0, 0]], [1.0]), ([[0.0, 0, 12.0]],), phi_type="coulomb", device=device)
    np.testing.assert_allclose(got, [332.06371 / 12], rtol=1e-12)


@pytest.mark.parametrize("variant", [v.name for v in gpuopt.variants("gem")])
def test_a_variant_by_name_and_by_configuration(any_device: gpuopt.Device, variant: str) -> None:
    molecule, surface = ball()
    exact, magnitude = references(molecule, surface)
    for choice in (variant, Configuration(variant, RSQRT=0)):
        got = potential(molecule, surface, variant=choice, device=any_device)
        assert (np.abs(got - exact) <= 2e-4 * magnitude).all()  # as standard by native roots, of 12 bits on x86


def test_a_preset(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    got = potential(molecule, surface, variant="paper:basic", device=any_device)
    np.testing.assert_array_equal(got, potential(molecule, surface, variant="pairs", device=any_device))
    assert_close(got, *references(molecule, surface))


def test_a_plain_call_is_accurate(device: gpuopt.Device) -> None:
    """What a device is given without being asked for keeps the bound of float32 sums."""
    for options in ({}, SALT, {"phi_type": "reaction", "salt": 0.1}):
        molecule, surface = ball(atoms=1500, heights=(-0.8, 0.0, 1.0, 3.0))
        exact, magnitude = references(molecule, surface, **options)
        got = potential(molecule, surface, device=device, **options)
        assert (np.abs(got - exact) <= 1e-6 * magnitude).all(), resolve("gem", device, "float32")


def test_the_device_that_was_chosen_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    molecule, surface = ball(points=5)
    ran: list[int] = []
    run = Scene.run

    def spy(self: Scene, configuration: Configuration, device: gpuopt.Device, nearest: float | None) -> np.ndarray:
        ran.append(device.index)
        return run(self, configuration, device, nearest)

    monkeypatch.setattr(Scene, "run", spy)
    for device in gpuopt.devices():
        potential(molecule, surface, device=device.index)
        with gpuopt.use(device):
            potential(molecule, surface)
    assert ran == [device.index for device in gpuopt.devices() for _ in range(2)]
    with pytest.raises(gpuopt.ParameterError, match="device: no device fits 'no such thing'"):
        potential(molecule, surface, device="no such thing")


@pytest.mark.parametrize("name", ["projection", "nearest", "ion_exclusion", "electrostatic_size", "epsilon_in"])
def test_a_number_that_no_length_is_names_itself(name: str) -> None:
    """Beyond 1e30 signs were wrong, or the surface was blamed."""
    molecule, surface = ball(atoms=5, points=5)
    with pytest.raises(gpuopt.ParameterError, match=f"^{name}: 1e\\+200 is"):
        potential(molecule, surface, salt=0.1, **{name: 1e200})


@pytest.mark.parametrize("variant", [None, "tiled", "pairs", "wide"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_salt_screens_far_points_to_nothing(device: gpuopt.Device, variant: str | None, dtype: str) -> None:
    """What fills a work-group's atoms up was so far away that its screening was infinite, and the call was refused."""
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    molecule, _ = ball(dtype, atoms=9)
    axes = np.eye(3, dtype=dtype)
    asked: dict[str, Any] = {"salt": 1.0, "device": device, "variant": variant}
    near = potential(molecule, Surface(15 * axes, axes, height=np.full(3, 5, dtype)), **asked)
    away = np.array([5, 390, 1e5], dtype)
    got = potential(molecule, Surface((10 + away)[:, np.newaxis] * axes, axes, height=away), **asked)
    np.testing.assert_array_equal(got[:1], near[:1])
    assert np.abs(got[1:]).max() < 1e-25


@pytest.mark.parametrize("radius", [300.0, 30000.0])
def test_far_among_the_ions_no_digits_are_lost(any_device: gpuopt.Device, radius: float) -> None:
    """Exponents are of differences of distances, not of rounded distances."""
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(50, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, np.newaxis]
    ion = Molecule(np.zeros((1, 3)), np.ones(1), np.full(1, radius - 5)).astype("float32")
    points = Surface(normals * radius, normals, height=np.full(50, 5.0)).astype("float32")
    problem = problems.gem(ion, points, salt=1.0)
    for variant in ("tiled", "wide"):
        phi = gpuopt.gem(ion, points, salt=1.0, variant=variant, device=any_device)
        np.testing.assert_allclose(phi, problem.reference, rtol=3e-6)


@pytest.mark.parametrize(("salt", "projection"), [(0.15, 200.0), (1.0, 100.0)])
def test_far_points_among_the_ions_keep_the_tolerance(
    any_device: gpuopt.Device, salt: float, projection: float
) -> None:
    atoms, points = problems.globule(300)
    problem = problems.gem(atoms, points, salt=salt, projection=projection)
    for variant in ("tiled", "wide", "paper:basic"):
        phi = gpuopt.gem(atoms, points, salt=salt, projection=projection, variant=variant, device=any_device)
        wrong = np.abs(phi - problem.reference)
        configuration = papers.preset("gem", variant) if ":" in variant else gpuopt.Configuration(variant)
        assert (wrong <= problem.tolerance_for(complete("gem", configuration))).all()
