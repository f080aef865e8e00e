"""The reaction potential inside the molecule on atoms, where it is finite, and all potentials very near to them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuopt
from golden_gem import SIZE
from gpuopt import Configuration, Molecule, Surface
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.solvation import Model
from workloads.gem.calls import SALT, ball, potential, references
from workloads.gem.series import exact_sphere

ORACLES = [oracle.potential, oracle.minimal]
REACTION: dict[str, Any] = {"phi_type": "reaction"}
SALTS = [{}, SALT]
FORMS = [
    None,
    Configuration("pairs", REGISTER_SUM=1),
    Configuration("pairs", SPECIALIZED=1, REGISTER_SUM=1),
    Configuration("pairs", SPECIALIZED=1, FORM=1, REGISTER_SUM=1),
    Configuration("tiled", RSQRT=0, VERTICES=1, UNROLL=1, PARTS=1),
    Configuration("wide", RSQRT=0, ROWS=1),
]


def needs(device: gpuopt.Device, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")


def on_its_atoms(dtype: str, moved: float = 0.0) -> tuple[Molecule, Surface]:
    """A ball of atoms, and as points these atoms, all ``moved`` A along their normals; far from the origin."""
    molecule, _ = ball("float64", atoms=60)
    assert molecule.depth is not None
    normals = np.random.default_rng(4).normal(size=(60, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    away = np.array([80.0, -35.0, 20.0])
    atoms = Molecule(molecule.xyz + away, molecule.charge, molecule.radius, molecule.depth)
    points = Surface(atoms.xyz + moved * normals, normals, height=-molecule.depth)
    return atoms.astype(dtype), points.astype(dtype)


def born(radius: float, model: Model) -> float:
    """The reaction potential at a unit charge in a sphere's middle, with ions from ``radius`` + ion_exclusion on."""
    k, ei, eo = model.kappa, model.epsilon_in, model.epsilon_out
    return -model.coulomb * ((1 / ei - 1 / eo) / radius + k / (eo * (1 + k * model.ion_radius)))


# ---------------------------------------------------------------- the oracle


@pytest.mark.parametrize("form", ORACLES)
@pytest.mark.parametrize("salt", [0.0, 0.1])
@pytest.mark.parametrize("epsilon_in", [1.0, 4.0])
def test_the_oracle_is_exact_on_a_central_charge(
    form: Callable[..., np.ndarray], salt: float, epsilon_in: float
) -> None:
    model = Model.of(size=3, salt=salt, epsilon_in=epsilon_in, phi_type="reaction")
    zero = np.zeros((1, 3))
    got = form(zero, [-2.0], zero, [[0, 5.0, 0]], [0.0], model, [0.0])
    np.testing.assert_allclose(got, -2 * born(3, model), rtol=1e-14)


@pytest.mark.parametrize("salt", [0.0, 0.1])
@pytest.mark.parametrize("epsilon_in", [1.0, 4.0])
def test_the_oracle_on_charges_off_the_centre_is_near_the_exact_series(salt: float, epsilon_in: float) -> None:
    """The series converges at a point beside the charge; there Coulomb's term is taken off in fp64."""
    model = Model.of(size=15, salt=salt, epsilon_in=epsilon_in, phi_type="reaction")
    inner, beside = 15 * np.linspace(0, 0.87, 9), 1e-3
    exact = exact_sphere(model, inner, inner + beside, np.ones(9)) - model.coulomb / (epsilon_in * beside)
    got = [
        oracle.potential([[r, 0, 0]], [1], [[r, 0, 0]], [[17 - r, 0, 0]], [r], model, [r])[0] for r in inner.tolist()
    ]
    np.testing.assert_allclose(got, exact, rtol=0.015)
    assert got[0] == pytest.approx(exact[0], rel=1e-7)


@pytest.mark.parametrize("salt", [0.0, 0.1])
def test_the_oracle_has_no_step_and_no_noise_towards_an_atom(salt: float) -> None:
    model = Model.of(size=SIZE, salt=salt, phi_type="reaction")
    charge, place, way = np.array([0.7, -0.4]), np.array([3.0, 4.0, 0.0]), np.array([0.0, 0.6, 0.8])
    xyz = np.array([place, [0, 0, -2.0]])
    found = []
    for d in (0.0, 1e-14, 1e-9, 1e-6):
        points = (place + d * way)[np.newaxis]
        given = (xyz, charge, points, 7 * way[np.newaxis], [5.0], model, [5.0, 2.0])
        found.append([form(*given)[0] for form in ORACLES])
    np.testing.assert_allclose(found, np.full((4, 2), found[0][0]), rtol=1e-5)
    np.testing.assert_allclose(found[:3], np.full((3, 2), found[0][0]), rtol=1e-9)


def test_the_oracle_refuses_what_is_infinite() -> None:
    point = np.array([[3.0, 4, 0]])
    for phi_type, r, inner in (("total", 5.0, 5.0), ("reaction", SIZE, 5.0), ("reaction", 5.0, SIZE)):
        model = Model.of(size=SIZE, salt=0.1, phi_type=phi_type)
        for form in (*ORACLES, oracle.magnitude):
            with pytest.raises(gpuopt.ArrayError, match="points: point 0 lies on atom 0, where"):
                form(point, [1.0], point, [[0, 0, 2.0]], [r], model, [inner])


# ---------------------------------------------------------------- kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("compat", [None, "opendwarfs"])
@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
def test_reaction_on_atoms_and_near_them(
    device: gpuopt.Device, salt: dict[str, Any], compat: str | None, dtype: str
) -> None:
    needs(device, dtype)
    options = REACTION | salt | {"compat": compat}
    for moved in (0.0, 1e-9, 1e-4):
        atoms, points = on_its_atoms(dtype, moved)
        expected, magnitude = references(atoms, points, **options)
        for form in FORMS if device.index == 0 and moved < 1e-5 else FORMS[:2]:
            got = potential(atoms, points, variant=form, device=device, **options)
            relative = 4e-6 if dtype == "float32" else 4e-13  # formulas as written round more often
            assert (np.abs(got - expected) <= relative * magnitude).all(), (moved, form)


def test_reaction_of_a_born_ion(device: gpuopt.Device) -> None:
    """By the series -109.567729 kcal/(mol e); an atom that is not moved to `nearest` has the same."""
    needs(device, "float64")
    ion = Molecule([[5.0, -7.0, 2.0]], [1.0], [3.0], [3.0])
    there = Surface(ion.xyz, [[0.0, 0, 1]], height=[-3.0])
    model = Model.of(size=3, epsilon_out=78.54, phi_type="reaction", **SALT)
    assert born(3, model) == pytest.approx(-109.567729, abs=5e-7)
    for nearest in (None, 1e-6):
        for form in FORMS if device.index == 0 else FORMS[:1]:
            got = gpuopt.gem(
                ion, there, epsilon_out=78.54, nearest=nearest, variant=form, device=device, **REACTION, **SALT
            )
            np.testing.assert_allclose(got, [born(3, model)], rtol=1e-11, err_msg=str(form))


@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
@pytest.mark.parametrize("phi_type", ["total", "coulomb"])
def test_infinite_potentials_inside_are_refused(device: gpuopt.Device, phi_type: str, salt: dict[str, Any]) -> None:
    atoms, points = on_its_atoms("float32")
    with pytest.raises(gpuopt.ArrayError, match=r"^surface: point 0 lies on atom 0, where the potential is infinite"):
        potential(atoms, points, phi_type=phi_type, device=device, **salt)


@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
def test_the_reaction_on_an_atom_at_the_edge_is_infinite(device: gpuopt.Device, salt: dict[str, Any]) -> None:
    atoms, points = on_its_atoms("float32")
    assert atoms.depth is not None
    assert points.height is not None
    for depth, height in ((0.0, -1.0), (1.0, 0.0)):
        depths, heights = atoms.depth.copy(), points.height.copy()
        depths[9], heights[9] = depth, height
        there = Surface(points.points, points.normals, height=heights)
        with pytest.raises(gpuopt.ArrayError, match=r"^surface: point 9 lies on atom 9"):
            potential(Molecule(atoms.xyz, atoms.charge, depth=depths), there, device=device, **REACTION, **salt)


@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
@pytest.mark.parametrize("depth", [1.0, 0.1, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("size", [10.0, 40.0])
def test_the_own_image_of_a_shallow_atom_keeps_its_digits(
    device: gpuopt.Device, size: float, depth: float, salt: dict[str, Any]
) -> None:
    """Depths are taken as they are, not as differences of lengths that float32 rounds."""
    below = np.array([depth], np.float32)
    atom = Molecule(np.zeros((1, 3), np.float32), np.ones(1, np.float32), depth=below)
    there = Surface(atom.xyz, np.array([[0, 0, 1]], np.float32), height=-below)
    asked: dict[str, Any] = {"electrostatic_size": size, **REACTION, **salt}
    expected, magnitude = references(atom, there, **asked)
    for form in (None, *FORMS[3:]):
        got = potential(atom, there, variant=form, device=device, **asked)
        assert (np.abs(got - expected) <= 1e-6 * magnitude).all(), form


@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
@pytest.mark.parametrize("depth", [1e-10, 1e-12])
def test_an_image_too_near_for_a_potential_is_refused(
    any_device: gpuopt.Device, depth: float, salt: dict[str, Any]
) -> None:
    """It was moved away, as atoms are that lie where a point's ions begin: 1e12 became 1e8."""
    needs(any_device, "float64")
    atom = Molecule(np.zeros((1, 3)), np.ones(1), depth=np.array([depth]))
    there = Surface(atom.xyz, np.array([[0, 0, 1.0]]), height=np.array([-depth]))
    with pytest.raises(gpuopt.ArrayError, match="surface: the potential at point 0, on an atom just below the surface"):
        potential(atom, there, electrostatic_size=10.0, device=any_device, **REACTION, **salt)


def test_an_atom_on_a_point_and_another_where_its_ions_begin(device: gpuopt.Device) -> None:
    atoms = Molecule(
        np.array([[0, 0, 2], [0, 0, 12]], np.float32),
        np.array([1, -0.5], np.float32),
        depth=np.array([8, 0.5], np.float32),
    )
    there = Surface(atoms.xyz[:1], np.array([[0, 0, 1]], np.float32), height=np.array([-8], np.float32))
    expected, magnitude = references(atoms, there, **REACTION, **SALT)
    for form in (None, *FORMS[3:]):
        got = potential(atoms, there, variant=form, device=device, **REACTION, **SALT)
        assert (np.abs(got - expected) <= 1e-5 * magnitude).all(), form


def test_a_potential_beyond_all_sense_is_refused(device: gpuopt.Device) -> None:
    """Not computed as at another distance in silence."""
    needs(device, "float64")
    atoms = Molecule([[0.0, 0, 0]], [1.0], depth=[8.0])
    with pytest.raises(gpuopt.ArrayError, match=r"^surface: point 0 lies 1e-13 A from atom 0.*nearest="):
        potential(atoms, Surface([[1e-13, 0, 0]], height=[-8.0]), device=device)


# ---------------------------------------------------------------- float32 near atoms


@pytest.mark.parametrize("salt", SALTS, ids=["", "salt"])
def test_float32_keeps_its_digits_near_atoms(device: gpuopt.Device, salt: dict[str, Any]) -> None:
    """Of the coordinates that it is given: a hundred units in their last place from an atom, and one."""
    for moved in (1e-3, 1e-5):
        atoms, points = on_its_atoms("float32", moved)
        apart = np.linalg.norm(points.points.astype(float) - atoms.xyz, axis=1)
        off = Surface(points.points[apart > 0], points.normals[apart > 0], height=points.height[apart > 0])  # type: ignore[index]
        expected, magnitude = references(atoms, off, **salt)
        for form in FORMS if device.index == 0 else FORMS[:1]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gpuopt.PrecisionWarning)
                got = potential(atoms, off, variant=form, device=device, **salt)
            assert (np.abs(got - expected) <= 4e-6 * magnitude).all(), (moved, form)


def test_points_that_float32_cannot_tell_from_atoms_are_warned_of(any_device: gpuopt.Device) -> None:
    """What it says bounds the error towards the coordinates before they were rounded."""
    _, far = on_its_atoms("float64", 0.05)
    exact, near = on_its_atoms("float64", 1e-4)
    assert near.height is not None
    few = np.arange(0, 60, 9)
    places = np.where(np.isin(np.arange(60), few)[:, np.newaxis], near.points, far.points)
    points = Surface(places, height=near.height)
    rounded = points.astype("float32")
    charge = exact.charge.copy()
    charge[few[0]] = 0
    exact = Molecule(exact.xyz, charge, depth=exact.depth)
    atoms = exact.astype("float32")
    with pytest.warns(
        gpuopt.PrecisionWarning, match=r"^surface: 6 points lie so near .* at point \d+, .*nearest="
    ) as told:
        got = gpuopt.gem(atoms, rounded, electrostatic_size=SIZE, device=any_device)
    assert len(told) == 1
    assert told[0].filename == __file__
    truth, magnitude = references(exact, points)
    said = float(str(told[0].message).partition("1 %, by ")[2].partition(" %")[0]) / 100
    error = np.abs(got - truth) / magnitude
    assert 0.01 < error.max() <= 1.1 * said
    assert (error[np.setdiff1d(np.arange(60), few)] < 1e-3).all()


def test_what_is_sure_is_not_warned_of(any_device: gpuopt.Device) -> None:
    atoms, near = on_its_atoms("float32", 1e-4)
    potential(atoms, near, device=any_device, **REACTION)
    potential(atoms, near, nearest=0.01, device=any_device)
    potential(Molecule(atoms.xyz, 0 * atoms.charge, depth=atoms.depth), near, device=any_device)
    potential(*on_its_atoms("float32", 0.01), device=any_device)
    if any_device.fp64:
        potential(*on_its_atoms("float64", 1e-4), device=any_device)


def test_all_doubtful_points_are_found(any_device: gpuopt.Device) -> None:
    draw = np.random.default_rng(8)
    atoms, _ = on_its_atoms("float32")
    assert atoms.depth is not None
    some = draw.integers(60, size=500)
    points = (atoms.xyz[some] + draw.normal(size=(500, 3)) * 10 ** draw.uniform(-5, -2, (500, 1))).astype(np.float32)
    apart = np.linalg.norm(points.astype(float) - atoms.xyz[some], axis=1)
    points, some, apart = points[apart > 0], some[apart > 0], apart[apart > 0]
    unsure = np.linalg.norm(np.spacing(np.abs(points)) + np.spacing(np.abs(atoms.xyz[some])), axis=1) / 2
    doubtful = int((unsure > 0.01 * apart).sum())
    assert 50 < doubtful < 450
    with pytest.warns(gpuopt.PrecisionWarning, match=f"^surface: {doubtful} points lie"):
        potential(atoms, Surface(points, height=-atoms.depth[some]), device=any_device)
