"""Points on atoms and near them: refused, clamped, or right."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, Molecule, Surface
from workloads.gem.calls import SALT, assert_close, ball, potential, references


def on_an_atom(dtype: str = "float32") -> tuple[Molecule, Surface]:
    """A surface whose point 33 is atom 7."""
    molecule, surface = ball(dtype)
    points = surface.points.copy()
    points[33] = molecule.xyz[7]
    return molecule, Surface(points, surface.normals)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("phi_type", ["total", "reaction", "coulomb"])
def test_a_point_on_an_atom_is_refused(device: gpuopt.Device, phi_type: str, dtype: str) -> None:
    if dtype == "float64" and not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    molecule, surface = on_an_atom(dtype)
    for salt in (0.0, 0.1):
        with pytest.raises(gpuopt.ArrayError, match=r"^surface: point 33 lies on atom 7.*nearest="):
            potential(molecule, surface, phi_type=phi_type, salt=salt, device=device)


def test_a_point_on_an_atom_without_charge_is_refused_or_right(device: gpuopt.Device) -> None:
    """0 / 0 is no number, but a compiler may leave the term out, which is right."""
    molecule, surface = on_an_atom()
    charge = molecule.charge.copy()
    charge[7] = 0
    said, got = "", np.empty(0)
    try:
        got = potential((molecule.xyz, charge), surface, device=device)
    except gpuopt.ArrayError as error:
        said = str(error)
    if said:
        assert said.startswith("surface: point 33 lies on atom 7")
    else:
        far = np.arange(len(molecule)) != 7
        assert_close(got, *references(Molecule(molecule.xyz[far], charge[far]), surface))


def test_nearest_clamps_distances(device: gpuopt.Device) -> None:
    """An atom on a point counts as one at that distance; all others as they lie."""
    molecule, surface = on_an_atom()
    nearest = 0.5
    got = potential(molecule, surface, nearest=nearest, device=device)
    far = np.arange(len(molecule)) != 7
    rest, magnitude = references(Molecule(molecule.xyz[far], molecule.charge[far]), surface)
    at = Surface(np.array([[nearest, 0, 0]], np.float32))
    alone = references(Molecule(np.zeros((1, 3), np.float32), molecule.charge[7:8]), at)
    rest[33] += alone[0][0]
    magnitude[33] += alone[1][0]
    others = np.arange(len(surface)) != 33
    exact = references(molecule, Surface(surface.points[others]))
    assert_close(got[others], *exact)
    assert_close(got[33:34], rest[33:34], magnitude[33:34])


FORMS = [
    Configuration("pairs", REGISTER_SUM=1),
    Configuration("pairs", SPECIALIZED=1, FORM=1, REGISTER_SUM=1),
    Configuration("tiled", RSQRT=0, VERTICES=1, UNROLL=1, PARTS=1),
    Configuration("wide", RSQRT=0, ROWS=1),
]


@pytest.mark.parametrize(("projection", "exclusion"), [(0.0, 0.0), (2.0, 2.0), (0.0, 2.0), (3.0, 2.0), (3.0, 0.0)])
def test_nearest_with_salt_is_the_same_in_all_forms(device: gpuopt.Device, projection: float, exclusion: float) -> None:
    """Also where ions begin at the point itself, and d' is 0 as d is."""
    molecule, surface = ball()
    assert surface.normals is not None
    points, normals = surface.points.copy(), surface.normals.copy()
    normals[33] = (1, 0, 0)
    points[33] = molecule.xyz[7] - np.float32(projection) * normals[33]
    # The same sum as puts the point there.
    xyz = molecule.xyz.copy()
    xyz[7] = points[33] + np.float32(projection) * normals[33]
    found = [
        potential(
            (xyz, molecule.charge),
            Surface(points, normals),
            salt=0.1,
            projection=projection,
            ion_exclusion=exclusion,
            nearest=0.5,
            variant=form,
            device=device,
        )
        for form in FORMS
    ]
    rounding = 4e-4 * np.abs(found[0]).max()  # of a native root: 12 bits on some processors
    for form, phi in zip(FORMS, found, strict=True):
        assert np.isfinite(phi).all(), form
        np.testing.assert_allclose(phi, found[0], atol=rounding, rtol=0, err_msg=str(form))


def test_an_atom_where_the_ions_begin(device: gpuopt.Device) -> None:
    """The potential there has a limit, which the minimal forms take."""
    normals = np.eye(3, dtype=np.float32)[:2]
    molecule = Molecule(np.array([[12, 0, 0], [0, 1, 0]], np.float32), np.array([1, -0.5], np.float32))
    surface = Surface(10 * normals, normals)
    expected, magnitude = references(molecule, surface, **SALT)
    assert np.isfinite(expected).all()
    for variant in (None, *(v.name for v in gpuopt.variants("gem") if v.name != "pairs")):
        got = potential(molecule, surface, variant=variant, device=device, **SALT)
        assert (np.abs(got - expected) <= 1e-3 * magnitude).all(), variant


def test_contacts_are_right_by_differences_and_refused_by_expanded_squares(device: gpuopt.Device) -> None:
    """Nearer to an atom than its coordinates' squares can tell, a potential is never wrong in silence."""
    molecule, surface = ball(points=2000)
    points = surface.points.copy()
    points[::2] = molecule.xyz[np.arange(1000) % len(molecule)] + np.float32(2e-4)
    expected, magnitude = references(molecule, Surface(points))
    for level in (0, 1, 2):
        variant = Configuration("tiled", DISTANCE=level, VERTICES=1, UNROLL=1)
        if level:
            with pytest.raises(gpuopt.ArrayError, match=r"^surface: point"):
                potential(molecule, points, variant=variant, device=device)
        else:  # whose differences of coordinates keep 3 digits at this distance
            got = potential(molecule, points, variant=variant, device=device)
            assert (np.abs(got - expected) <= 5e-3 * magnitude).all()
