"""Solvation energies: exact ones, the formula computed once more in NumPy, dtypes and errors."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Molecule, Surface, solvation_energy
from gpuopt.molecule import at_atoms, surface_points, with_depth
from gpuopt.workloads.gem import energy as module
from gpuopt.workloads.gem.molecules import globule

K, ALPHA = 332.06371, 0.571412
KAPPA = {0.0: 0.0, 0.1: 0.1029727791109}  # 1/A, of 0.1 mol/l at 298.15 K and a dielectric constant of 80


def alpb(
    molecule: Molecule, depth: np.ndarray, size: float, ei: float = 1, eo: float = 80, places: Surface | None = None
) -> float:
    """The energy by the article's formula, and with ``places`` (atoms with normals) that of 0.1 mol/l of salt."""
    q, x, beta = molecule.charge.astype(float), molecule.xyz.astype(float), ei / eo
    inner = np.clip(size - depth.astype(float), 0, size)
    born = size - inner**2 / size
    d2 = ((x[:, np.newaxis] - x) ** 2).sum(axis=2)
    green = (1 / np.sqrt(d2 + born[:, np.newaxis] * born) + ALPHA * beta / size) / (1 + ALPHA * beta)
    total = -K / 2 * (1 / ei - 1 / eo) * (q @ green @ q)
    if places is not None:
        assert places.normals is not None
        share, k, ions = 1 / (eo * (1 + ALPHA * beta)), KAPPA[0.1], size + 2
        edge = x + (2 + depth.astype(float))[:, np.newaxis] * places.normals
        away = np.sqrt(((edge[:, np.newaxis] - x) ** 2).sum(axis=2))
        layer = ALPHA * (1 - beta) * k / (1 + k * ions) - (1 + ALPHA) * k / (1 + k * away)
        total += K / 2 * share * (q @ layer @ q)
    return float(total)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("salt", [0.0, 0.1])
def test_born_ion(device: gpuopt.Device, salt: float, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    for radius, charge, ei in ((1.5, 1.0, 1.0), (3.0, -2.0, 1.0), (2.0, 0.5, 4.0)):
        ion = Molecule([[30.0, -4.0, 7.0]], [charge], [radius]).astype(dtype)
        k = KAPPA[salt]
        exact = -K * charge**2 / 2 * ((1 / ei - 1 / 80) / radius + k / (80 * (1 + k * (radius + 2))))
        got = solvation_energy(ion, salt=salt, epsilon_in=ei, device=device)
        assert got.dtype == dtype
        assert float(got) == got.kcal_per_mol
        assert abs(float(got) - exact) <= got.error + 1e-12 * abs(exact)
        assert got.error <= (1e-3 if dtype == "float32" else 1e-9)


@pytest.mark.parametrize("salt", [0.0, 0.1])
def test_a_molecule_is_the_formula_in_numpy(device: gpuopt.Device, salt: float) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    molecule, surface = globule(250, seed=3, dtype="float64")
    size = gpuopt.electrostatic_size(molecule)
    depth = with_depth(molecule, surface).depth
    assert depth is not None
    exact = alpb(molecule, depth, size, places=at_atoms(molecule, surface) if salt else None)
    for given in ((molecule, surface), (molecule, None), (with_depth(molecule, surface), surface)):
        got = solvation_energy(*given, salt=salt, device=device)
        assert got.dtype == "float64"
        assert float(got) == pytest.approx(exact, rel=1e-11)
    options: dict[str, Any] = {"epsilon_in": 4, "epsilon_out": 78.5, "electrostatic_size": 9.0}
    if not salt:
        expected = alpb(molecule, depth, 9.0, 4, 78.5)
        assert float(solvation_energy(molecule, surface, device=device, **options)) == pytest.approx(
            expected, rel=1e-11
        )


def test_float32_where_its_error_allows(device: gpuopt.Device) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    molecule, surface = globule(60, seed=5)
    depth = with_depth(molecule.astype("float64"), surface).depth
    assert depth is not None
    exact = alpb(molecule, depth, gpuopt.electrostatic_size(molecule))
    single = solvation_energy(molecule, surface, tolerance=10.0, device=device)
    double = solvation_energy(molecule, surface, tolerance=1e-9, device=device)
    assert (single.dtype, double.dtype) == ("float32", "float64")
    assert 1e-4 < single.error <= 10
    assert abs(float(single) - exact) <= single.error
    assert abs(float(double) - exact) <= 1e-9 * abs(exact)
    assert double.error < 1e-6
    for tolerance in (single.error * 0.99, single.error * 1.01):
        chosen = solvation_energy(molecule, surface, tolerance=tolerance, device=device)
        assert chosen == (single if tolerance > single.error else double)
    wide = solvation_energy(molecule.astype("float64"), surface, tolerance=10.0, device=device)
    assert wide.dtype == "float64"


@pytest.mark.parametrize(("atoms", "away"), [(40, 0.0), (300, 500.0)])
def test_the_error_is_a_bound(any_device: gpuopt.Device, atoms: int, away: float) -> None:
    molecule, surface = globule(atoms, seed=6)
    there = Molecule(molecule.xyz + np.float32(away), molecule.charge, molecule.radius)
    around = Surface(surface.points + np.float32(away), surface.normals)
    depth = with_depth(there.astype("float64"), around).depth
    assert depth is not None
    exact = alpb(there, depth, gpuopt.electrostatic_size(there))
    got = solvation_energy(there, around, tolerance=1e6, device=any_device)
    assert got.dtype == "float32"
    assert abs(float(got) - exact) <= got.error


def test_a_device_without_fp64_is_told_of(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    molecule, surface = globule(60, seed=5)
    plain = solvation_energy(molecule, surface, tolerance=10.0, device=any_device)
    gem = module.gem
    monkeypatch.setattr(module, "select", lambda device: SimpleNamespace(name="a card", fp64=False))
    monkeypatch.setattr(module, "gem", lambda *given, **named: gem(*given, **named | {"device": any_device}))
    with pytest.warns(gpuopt.PrecisionWarning, match=r"^device: a card has no float64.*use a device") as told:
        got = solvation_energy(molecule, surface, tolerance=1e-6)
    assert got == plain
    assert told[0].filename == __file__


def test_depths_and_a_size_are_enough(any_device: gpuopt.Device) -> None:
    """Without radii there is no surface to be made; salt needs its normals."""
    molecule = Molecule(
        np.array([[0, 0, 0], [3, 0, 0]], np.float32),
        np.array([0.5, -0.25], np.float32),
        depth=np.array([6, 3], np.float32),
    )
    assert molecule.depth is not None
    got = solvation_energy(molecule, electrostatic_size=6.0, device=any_device)
    assert abs(float(got) - alpb(molecule, molecule.depth, 6.0)) <= got.error
    with pytest.raises(gpuopt.ArrayError, match=r"^radius: "):
        solvation_energy(molecule, electrostatic_size=6.0, salt=0.1, device=any_device)
    directions = gpuopt.molecule.fibonacci_sphere(50).astype(np.float32)
    with pytest.raises(gpuopt.ArrayError, match=r"^surface: it has no normals, which salt needs"):
        solvation_energy(molecule, 6 * directions, electrostatic_size=6.0, salt=0.1, device=any_device)
    around = Surface(6 * directions, directions)
    salty = solvation_energy(molecule, around, electrostatic_size=6.0, salt=0.1, device=any_device)
    expected = alpb(molecule, molecule.depth, 6.0, places=at_atoms(molecule, around))
    assert abs(float(salty) - expected) <= salty.error
    assert float(salty) < float(got)


def test_atoms_without_charge_may_lie_anywhere(any_device: gpuopt.Device) -> None:
    molecule, surface = globule(40, seed=9)
    more = Molecule(
        np.vstack([molecule.xyz, [[60, 0, 0]]]).astype(np.float32), np.append(molecule.charge, np.float32(0))
    )
    size = gpuopt.electrostatic_size(molecule)
    around = {"surface": Surface(surface.points, surface.normals), "electrostatic_size": size, "device": any_device}
    bare = Molecule(molecule.xyz, molecule.charge)
    got, alone = solvation_energy(more, **around), solvation_energy(bare, **around)
    assert abs(float(got) - float(alone)) <= got.error
    nothing = solvation_energy(Molecule(bare.xyz, 0 * bare.charge), **around)
    assert float(nothing) == nothing.error == 0


def test_places_of_atoms() -> None:
    molecule, surface = globule(60, seed=1)
    there = at_atoms(molecule, surface)
    assert there.points is molecule.xyz
    assert there.dtype == np.float32
    np.testing.assert_array_equal(there.height, -with_depth(molecule, surface).depth)  # type: ignore[operator]
    assert there.normals is not None
    np.testing.assert_allclose(np.linalg.norm(there.normals, axis=1), 1, rtol=1e-6)
    own = Molecule(molecule.xyz, molecule.charge, depth=np.full(60, 2, np.float32))
    np.testing.assert_array_equal(at_atoms(own, Surface(surface.points)).height, np.full(60, -2))
    assert at_atoms(own, Surface(surface.points)).normals is None
    ball = Molecule([[1.0, 2, 3]], [1.0], [2.0])
    np.testing.assert_allclose(at_atoms(ball, surface_points(ball)).height, [-2], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tolerance": 0.0}, "tolerance: 0.0"),
        ({"tolerance": float("nan")}, "tolerance: nan"),
        ({"probe": -1.0}, "probe: -1.0"),
        ({"salt": -0.1}, "salt: -0.1"),
        ({"epsilon_in": 0}, "epsilon_in: 0"),
        ({"electrostatic_size": -3.0}, "electrostatic_size: -3.0"),
        ({"electrostatic_size": 1e-12}, "electrostatic_size: .* 1e-12 A is too small"),
        ({"electrostatic_size": 1e18}, "electrostatic_size: 1e.18 A is too large beside an atom"),
        ({"electrostatic_size": 1e200}, "electrostatic_size: 1e.200 is not a radius"),
        ({"epsilon_in": 1e-300}, "epsilon_in: .* 1e-300 is too small"),
        ({"epsilon_out": 1e-300, "salt": 0.1}, "epsilon_out: 1e-300 with salt"),
        ({"constants": "exact"}, "constants: 'exact'"),
        ({"molecule": 5}, "molecule: "),
        ({"surface": "protein.vert"}, "surface: "),
        (
            {"surface": (np.full((3, 3), 50.0),), "molecule": "outside"},
            "molecule: by its depth atom 0",
        ),
    ],
    ids=str,
)
def test_bad_arguments_are_named(any_device: gpuopt.Device, change: dict[str, Any], message: str) -> None:
    molecule, _ = globule(40, seed=9)
    given: dict[str, Any] = {"molecule": molecule, "device": any_device} | change
    if given["molecule"] == "outside":
        given["molecule"] = Molecule(molecule.xyz, molecule.charge, molecule.radius, np.zeros(40, np.float32))
    with pytest.raises(gpuopt.Error, match=f"^{message}"):
        solvation_energy(**given)


def test_charges_whose_square_no_float_holds() -> None:
    xyz, charge = np.array([[0.0, 0, 0], [2.0, 0, 0]]), np.array([1e160, 1e160])
    with pytest.raises(gpuopt.ArrayError, match="potential"):
        gpuopt.solvation_energy(gpuopt.Molecule(xyz, charge, np.full(2, 1.5)))


def test_an_energy_with_salt_is_the_same_wherever_the_molecule_is_and_however_its_points_are_ordered() -> None:
    """All points on a bare atom are as near to it: its direction is their mean, not one that rounding picks."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        atoms = Molecule(rng.standard_normal((33, 3)) * 5, rng.uniform(-1, 1, 33), rng.uniform(1, 2, 33))
        surface = surface_points(atoms)
        atoms = with_depth(atoms, surface)
        energy = float(solvation_energy(atoms, surface, salt=0.1))
        assert surface.normals is not None
        turned = Surface(surface.points[::-1].copy(), surface.normals[::-1].copy())
        moved = Molecule(atoms.xyz + 16, atoms.charge, atoms.radius, atoms.depth)
        at = Surface(surface.points + 16, surface.normals)
        narrow = atoms.astype("float32"), surface.astype("float32")
        for other in ((atoms, turned), (moved, at), narrow):
            assert float(solvation_energy(*other, salt=0.1)) == pytest.approx(energy, abs=2e-3)


def test_directions_that_cancel_point_away_from_the_centre() -> None:
    ring = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    atoms = Molecule([[0, 0, 0], [0, 0, 9]], charge=[1, 1], radius=[1, 1])
    normals = at_atoms(
        atoms, Surface(np.concatenate([ring, ring + np.array([0, 0, 9])]), np.concatenate([ring, ring]))
    ).normals
    np.testing.assert_allclose(normals, [[0, 0, -1], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize("beyond", [1e-2, 1e-6, 1e-12])
def test_the_error_is_a_bound_where_water_is_like_the_molecule(any_device: gpuopt.Device, beyond: float) -> None:
    """The difference of the inverse permittivities is made of their own, so that no digits are lost."""
    outside = 1 + beyond
    ion = Molecule(np.zeros((1, 3)), np.ones(1), np.full(1, 2.0), np.full(1, 2.0))
    found = solvation_energy(ion, epsilon_out=outside, electrostatic_size=2.0, device=any_device)
    exact = -Fraction(332.06371) / 4 * (1 - 1 / Fraction(outside))
    assert abs(Fraction(found.kcal_per_mol) - exact) <= found.error < 1e-11 * abs(exact)
