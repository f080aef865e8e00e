"""Surfaces of which some normals are not known: what needs none works, what needs them says how many are missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import gpuopt
from gpuopt import ArrayError, Molecule, Surface
from gpuopt import molecule as geometry

BALL = Molecule([[0.0, 0, 0]], [1.0], [5.0])
UNKNOWN = [2, 7]


@pytest.fixture
def some() -> Surface:
    known = geometry.surface_points(BALL, density=10)
    assert known.normals is not None
    normals = known.normals.copy()
    normals[UNKNOWN] = np.nan
    return Surface(known.points, normals)


def message(some: Surface, why: str) -> str:
    return (
        rf"^surface: the normals of 2 of its {len(some):,} points are not known, the first that of point 2, and {why} "
        "needs all; compute them, or leave these points out$"
    )


def test_a_surface_knows_which(some: Surface) -> None:
    assert some.unknown_normals.tolist() == UNKNOWN
    assert some.astype(np.float32).unknown_normals.tolist() == UNKNOWN
    assert repr(some).endswith("float64, normals (2 not known)>")
    assert Surface(some.points).unknown_normals.tolist() == []


def test_distances_to_a_surface_need_all_where_they_need_any(some: Surface) -> None:
    with pytest.raises(ArrayError, match=message(some, "a probe standing on it")):
        geometry.with_depth(BALL, some)
    whole = Surface(some.points, some.normals, ConvexHull(some.points).simplices)
    for surface in (some, whole):
        with pytest.raises(ArrayError, match=message(some, "telling inside from outside")):
            geometry.grid(BALL, surface, 1.0)
    np.testing.assert_allclose(geometry.with_depth(BALL, whole).depth, [5])  # by points alone


def test_potentials_need_all_for_a_projection_and_for_salt(some: Surface, device: gpuopt.Device) -> None:
    with pytest.raises(ArrayError, match=message(some, "a projection")):
        gpuopt.gem(BALL, some, projection=1.0, device=device)
    with pytest.raises(ArrayError, match=message(some, "salt")):
        gpuopt.gem(BALL, some, salt=0.1, device=device)
    bare = gpuopt.gem(BALL, Surface(some.points), device=device)
    np.testing.assert_array_equal(gpuopt.gem(BALL, some, device=device), bare)


def test_a_picture_shows_all_points(some: Surface) -> None:
    pytest.importorskip("matplotlib")
    from gpuopt.workloads.gem.surface_picture import surface as picture

    phi = np.linspace(-1, 1, len(some))
    drawn = [
        sum(len(disks.get_offsets()) for ax in picture(BALL, given, phi).axes for disks in ax.collections)
        for given in (some, Surface(some.points, some.points))
    ]
    assert drawn[0] == drawn[1]


def test_the_mean_of_points_that_are_as_near_is_of_those_that_are_known(some: Surface) -> None:
    """All points of a ball are as near to its middle."""
    faces = ConvexHull(some.points).simplices
    normals = np.full((len(some), 3), np.nan)
    normals[5] = [0, 0, 1]
    np.testing.assert_allclose(geometry.at_atoms(BALL, Surface(some.points, normals, faces)).normals, [[0, 0, 1]])
    normals[5] = np.nan
    found = geometry.at_atoms(BALL, Surface(some.points, normals, faces)).normals
    assert found is not None
    assert np.isnan(found).all()


def test_an_energy_with_salt_names_the_atom() -> None:
    atoms = Molecule([[0.0, 0, 0], [0, 0, 1], [0, 0, 2]], [0, 0, 1], [4.0, 1, 1])
    whole = geometry.surface_points(atoms)
    assert whole.normals is not None
    near = np.linalg.norm(whole.points - [0, 0, 2], axis=1).argsort()[:3]
    normals = whole.normals.copy()
    normals[near] = np.nan
    meshed = Surface(whole.points, normals, faces=[[0, 1, 2]])
    with pytest.raises(ArrayError, match=r"^surface: the normal of its point nearest to atom 2 is not known, and salt"):
        gpuopt.solvation_energy(atoms, meshed, salt=0.1)
    assert float(gpuopt.solvation_energy(atoms, meshed)) < 0
