"""Molecules, surfaces and their geometry, held against what can be worked out by hand; the made molecules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull, cKDTree
from scipy.spatial.transform import Rotation

from gpuopt import ArrayError, ParameterError
from gpuopt import molecule as geometry
from gpuopt.molecule import Molecule, Surface, closest_contact, electrostatic_size, surface_points
from gpuopt.workloads.gem.molecules import capsid, globule

XYZ = np.array([[0, 0, 0], [1, 2, 3]], dtype=np.float32)
CHARGE = np.array([0.5, -1.5], dtype=np.float32)
RADIUS = np.array([1.0, 2.0], dtype=np.float32)
for _array in (XYZ, CHARGE, RADIUS):
    _array.flags.writeable = False


def balls(*atoms: tuple[float, float, float, float]) -> Molecule:
    """Uncharged atoms x, y, z, radius."""
    table = np.array(atoms, dtype=np.float64)
    return Molecule(table[:, :3], np.zeros(len(table)), table[:, 3])


def blob(count: int = 60, seed: int = 3) -> Molecule:
    random = np.random.default_rng(seed)
    return Molecule(random.normal(0, 4, (count, 3)), random.uniform(-1, 1, count), random.uniform(1, 2, count))


def test_read_only_arrays_are_kept_and_lists_become_float64() -> None:
    kept = Molecule(XYZ, CHARGE, RADIUS)
    assert all(np.shares_memory(*pair) for pair in ((kept.xyz, XYZ), (kept.charge, CHARGE), (kept.radius, RADIUS)))
    assert (len(kept), kept.dtype, kept.total_charge) == (2, np.float32, -1.0)
    listed = Molecule([[0, 0, 0], [1, 2, 3]], [1, -2], depth=(0.5, 1.0))
    assert listed.dtype == listed.charge.dtype == np.float64
    assert listed.depth is not None
    assert listed.depth.tolist() == [0.5, 1.0]
    with pytest.raises(AttributeError):
        kept.charge = RADIUS  # type: ignore[misc]


def test_arrays_in_another_order_are_put_in_order() -> None:
    made = Molecule(np.asfortranarray(XYZ), np.repeat(CHARGE, 2)[::2])
    assert made.xyz.flags.c_contiguous
    assert made.charge.flags.c_contiguous
    np.testing.assert_array_equal(made.xyz, XYZ)


def test_what_a_molecule_says_of_itself() -> None:
    made = Molecule(XYZ, CHARGE, RADIUS)
    assert repr(made) == "<gpuopt.Molecule: 2 atoms, -1.00 e, 1.0 x 2.0 x 3.0 A, float32, radius>"
    assert "+0.00 e" in repr(Molecule(XYZ, np.float32([1e-4, -2e-4])))


def test_conversion() -> None:
    made = Molecule(XYZ, CHARGE, RADIUS, RADIUS)
    assert made.astype("float32") is made
    double = made.astype(np.float64)
    assert {array.dtype for array in (double.xyz, double.charge, double.radius, double.depth)} == {np.dtype("f8")}
    surface = Surface(XYZ, XYZ + 1, [[0, 1, 0]], RADIUS)
    assert surface.astype(np.float32) is surface
    converted = surface.astype(np.float64)
    assert converted.normals is not None
    assert converted.dtype == converted.normals.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(converted.normals, axis=1), 1, rtol=1e-7)
    with pytest.raises(ArrayError, match=r"^charge: row 0"):
        Molecule([[0, 0, 0]], [1e300]).astype(np.float32)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"xyz": XYZ.astype(int)}, r"^xyz: its dtype is <i8, not native float32 or float64; use xyz.astype"),
        ({"xyz": XYZ.astype(np.float16)}, "^xyz: its dtype"),
        ({"xyz": XYZ.astype(">f4")}, "^xyz: its dtype is >f4"),
        ({"xyz": XYZ.astype(complex)}, "^xyz: its dtype"),
        ({"xyz": XYZ[:, :2]}, r"^xyz: its shape is \(2, 2\); give \(N, 3\)"),
        ({"xyz": XYZ[0]}, "^xyz: its shape"),
        ({"xyz": XYZ[:0]}, "^xyz: it is empty"),
        ({"xyz": [[0, 0, 0], [1, 2]]}, "^xyz: it cannot be read as numbers"),
        ({"xyz": "atoms"}, "^xyz: it cannot be read as numbers"),
        ({"xyz": np.where(XYZ == 3, np.nan, XYZ)}, "^xyz: row 1 holds NaN or infinity"),
        ({"charge": CHARGE.astype(np.float64)}, "^charge: its dtype is float64, that of xyz is float32; use np"),
        ({"charge": [0.5, 0.5]}, "^charge: its dtype is float64, that of xyz is float32"),
        ({"charge": CHARGE[:1]}, r"^charge: its shape is \(1,\); give \(2,\)"),
        ({"charge": CHARGE[:, np.newaxis]}, "^charge: its shape"),
        ({"charge": CHARGE * np.float32(np.inf)}, "^charge: row 0 holds"),
        ({"charge": None}, "^charge: it is missing"),
        ({"radius": -RADIUS}, "^radius: that of atom 1 is -2 A"),
        ({"depth": -RADIUS}, "^depth: that of atom 1 is -2 A"),
        ({"depth": np.arange(2)}, "^depth: its dtype"),
    ],
)
def test_bad_molecules_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        Molecule(**{"xyz": XYZ, "charge": CHARGE, **given})


def test_normals_are_brought_to_length_one() -> None:
    given = np.array([[3, 0, 4], [1e-30, 0, 0], [0, 1e30, -1e30]], dtype=np.float32)
    before = given.copy()
    made = Surface(np.zeros((3, 3), dtype=np.float32), given)
    assert made.normals is not None
    half = 0.5**0.5
    np.testing.assert_allclose(made.normals, [[0.6, 0, 0.8], [1, 0, 0], [0, half, -half]], rtol=1e-6)
    np.testing.assert_array_equal(given, before)
    assert made.normals.dtype == np.float32
    huge = Surface([[0, 0, 0]], [[1e300, 0, 1e300]]).normals
    np.testing.assert_allclose(huge, [[half, 0, half]])


def test_faces_and_heights() -> None:
    made = Surface(XYZ, faces=np.array([[0, 1, 1]], dtype=np.uint8), height=RADIUS)
    assert made.faces is not None
    assert made.faces.dtype == np.int64
    assert repr(made) == "<gpuopt.Surface: 2 points, float32, height, 1 faces>"
    assert repr(Surface(XYZ, XYZ + 1)) == "<gpuopt.Surface: 2 points, float32, normals>"
    assert (len(made), Surface(XYZ, faces=np.empty((0, 3), int)).faces) == (2, None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"normals": XYZ}, "^normals: row 0 is zero; give a direction, or three NaN"),
        ({"normals": np.float32([[1, np.nan, 0], [1, 0, 0]])}, "^normals: row 0 holds NaN or infinity"),
        ({"normals": XYZ[:1] + 1}, r"^normals: its shape is \(1, 3\); give \(2, 3\)"),
        ({"normals": XYZ.astype(np.float64) + 1}, "^normals: its dtype is float64, that of points is float32"),
        ({"faces": [[0, 1, 2]]}, r"^faces: row 0 is \[0, 1, 2\]; give indices from 0 to 1"),
        ({"faces": [[0, 1, 1], [0, 1, -1]]}, "^faces: row 1"),
        ({"faces": [[0.0, 1.0, 1.0]]}, "^faces: they are float64"),
        ({"faces": [0, 1, 1]}, "^faces: they are"),
        ({"height": RADIUS[:1]}, "^height: its shape"),
        ({"points": XYZ[:0]}, "^points: it is empty"),
    ],
)
def test_bad_surfaces_are_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        Surface(**{"points": XYZ, **given})


def test_electrostatic_size_of_one_atom_is_its_radius() -> None:
    assert electrostatic_size(balls((5, 6, 7, 1.7))) == pytest.approx(1.7, rel=1e-12)
    # Atoms without a radius have no mass.
    assert electrostatic_size(balls((5, 6, 7, 1.7), (90, 0, 0, 0))) == pytest.approx(1.7, rel=1e-12)


def test_electrostatic_size_of_two_atoms() -> None:
    # Unit masses at +-3 on the x axis: I = (4/5, 18 + 4/5, 18 + 4/5).
    expected = (5 / 4) ** 0.5 * (0.8 * 18.8**2) ** (1 / 6)
    assert electrostatic_size(balls((-3, 0, 0, 1), (3, 0, 0, 1))) == pytest.approx(expected, rel=1e-12)


def test_electrostatic_size_is_the_written_formula_wherever_the_molecule_lies() -> None:
    made = blob()
    assert made.radius is not None
    mass = made.radius**3
    x = made.xyz - (mass[:, None] * made.xyz).sum(axis=0) / mass.sum()
    inertia = np.zeros((3, 3))
    for m, (a, b, c), r in zip(mass, x, made.radius, strict=True):
        aa, bb, cc = a * a + r * r / 5, b * b + r * r / 5, c * c + r * r / 5
        inertia += m * np.array([[bb + cc, -a * b, -a * c], [-a * b, aa + cc, -b * c], [-a * c, -b * c, aa + bb]])
    expected = (5 / (2 * mass.sum())) ** 0.5 * np.linalg.det(inertia) ** (1 / 6)
    turned = Rotation.random(random_state=1).apply(made.xyz.copy()) + np.array([100, -50, 30])
    for xyz in (made.xyz, turned):
        assert electrostatic_size(Molecule(xyz, made.charge, made.radius)) == pytest.approx(expected, rel=1e-12)


def test_size_and_surface_need_radii() -> None:
    for radius in (None, np.zeros(2, dtype=np.float32)):
        without = Molecule(XYZ, CHARGE, radius)
        np.testing.assert_allclose(geometry.centre(without), [0.5, 1, 1.5])
        for needing in (electrostatic_size, surface_points):
            with pytest.raises(ArrayError, match=r"^radius: no atom has one"):
                needing(without)


def test_centre_weighs_atoms_by_volume() -> None:
    np.testing.assert_allclose(geometry.centre(balls((0, 0, 0, 1), (9, 0, 0, 2))), [8, 0, 0])


def test_closest_contact() -> None:
    made, points = blob(), np.random.default_rng(1).normal(0, 6, (80, 3))
    distances = np.linalg.norm(made.xyz[:, np.newaxis] - points, axis=2)
    atom, point = np.unravel_index(np.argmin(distances), distances.shape)
    found = closest_contact(made, Surface(points))
    assert found == (pytest.approx(distances.min()), atom, point)


@pytest.mark.parametrize("radius", [1.0, 1.7, 5.0])
def test_surface_of_one_sphere(radius: float) -> None:
    made = surface_points(balls((1, 2, 3, radius)))
    assert made.normals is not None
    assert len(made) / 3 == pytest.approx(4 * np.pi * radius**2, rel=0.03)
    np.testing.assert_allclose(made.points, [1, 2, 3] + radius * made.normals, atol=1e-12)
    # Even: the directions' mean and second moments are those of the sphere.
    np.testing.assert_allclose(made.normals.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(made.normals.T @ made.normals / len(made), np.eye(3) / 3, atol=0.02)


def test_surface_of_two_distant_spheres() -> None:
    one, other = balls((0, 0, 0, 2)), balls((20, 0, 0, 1.5))
    both = surface_points(balls((0, 0, 0, 2), (20, 0, 0, 1.5)))
    np.testing.assert_array_equal(
        both.points, np.concatenate([surface_points(one).points, surface_points(other).points])
    )


@pytest.mark.parametrize("distance", [0.5, 1.5, 3.0, 5.0])
@pytest.mark.parametrize("probe", [0.0, 1.4])
def test_surface_of_two_overlapping_spheres(distance: float, probe: float) -> None:
    radii, density = (2.0, 1.5), 200.0
    made = surface_points(balls((0, 0, 0, radii[0]), (distance, 0, 0, radii[1])), probe, density)
    expected = 0.0
    for r, s in (radii, radii[::-1]):
        a, b = r + probe, s + probe
        # Of the larger sphere around an atom, a cap of this height lies in the other's.
        height = np.clip(a - (distance**2 + a**2 - b**2) / (2 * distance), 0, 2 * a)
        expected += 4 * np.pi * r**2 * (1 - height / (2 * a))
    assert len(made) / density == pytest.approx(expected, rel=0.01)


def test_surface_of_many_atoms_touches_none_of_the_others() -> None:
    made = blob()
    assert made.radius is not None
    points = surface_points(made).points
    clearance = np.linalg.norm(points[:, np.newaxis] - made.xyz, axis=2) - made.radius
    np.testing.assert_allclose(clearance.min(axis=1), 0, atol=1e-9)
    # ... and where the probe stands, it touches none either.
    normals = surface_points(made).normals
    assert normals is not None
    standing = points + 1.4 * normals
    assert (np.linalg.norm(standing[:, np.newaxis] - made.xyz, axis=2) - made.radius).min() > 1.4 - 1e-9


def test_buried_and_empty_atoms_have_no_surface() -> None:
    alone = surface_points(balls((0, 0, 0, 3)))
    for extra in ((0.5, 0.5, 0, 1.0), (0.1, 0, 0, 0.0), (3.5, 0, 0, 0.0)):
        np.testing.assert_array_equal(surface_points(balls((0, 0, 0, 3), extra)).points, alone.points)


def test_surface_is_of_the_molecules_dtype() -> None:
    made = surface_points(Molecule(XYZ, CHARGE, RADIUS))
    assert made.dtype == np.float32
    assert made.normals is not None
    assert made.normals.dtype == np.float32


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (surface_points, {"probe": -1}, "^probe: "),
        (surface_points, {"probe": np.nan}, "^probe: "),
        (surface_points, {"density": 0}, "^density: "),
        (surface_points, {"density": np.inf}, "^density: "),
        (surface_points, {"density": np.nan}, "^density: "),
        (geometry.grid, {"spacing": 0.0}, "^spacing: "),
        (geometry.grid, {"spacing": np.nan}, "^spacing: "),
        (geometry.grid, {"spacing": 1e-4}, r"^spacing: 0.0001 A makes .* points; use a larger one"),
        (geometry.grid, {"spacing": 1.0, "margin": -1.0}, "^margin: "),
        (geometry.grid, {"spacing": 1.0, "margin": np.inf}, "^margin: "),
        (geometry.grid, {"spacing": 50.0, "probe": -1.0}, "^probe: "),
    ],
)
def test_bad_numbers_are_refused_by_name(function: Callable[..., Any], given: dict[str, float], message: str) -> None:
    made = balls((0, 0, 0, 100))
    if function is geometry.grid:
        given = {"surface": surface_points(made, density=0.1), **given}  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match=message):
        function(made, **given)


def test_large_atoms_do_not_make_endless_points() -> None:
    with pytest.raises(ParameterError, match="density"):
        surface_points(balls((0, 0, 0, 1e6)))


def test_grid_around_a_sphere() -> None:
    made = balls((1, 2, 3, 5))
    surface, lattice = geometry.grid(made, surface_points(made, density=40), spacing=1.5, margin=8.0)
    assert lattice.shape == (12, 12, 12)
    assert lattice.spacing == 1.5
    np.testing.assert_allclose(np.array(lattice.origin) + 5.5 * 1.5, [1, 2, 3])  # its middle is the atom's
    points = surface.points.reshape(12, 12, 12, 3)
    np.testing.assert_allclose(points[0, 0, 0], lattice.origin)
    np.testing.assert_allclose(points[2, 1, 3] - points[0, 0, 0], [3, 1.5, 4.5])
    distance = np.linalg.norm(surface.points - [1, 2, 3], axis=1)
    assert surface.height is not None
    assert surface.normals is not None
    np.testing.assert_allclose(surface.height, distance - 5, atol=0.03)
    outward = (surface.normals * (surface.points - [1, 2, 3])).sum(axis=1) / distance
    assert (outward > 0.99).mean() > 0.95
    with pytest.raises(ArrayError, match=r"^surface: it has no normals"):
        geometry.grid(made, Surface(surface.points), 1.0)
    with pytest.raises(ArrayError, match=r"^radius: no atom has one"):
        geometry.grid(Molecule(made.xyz, made.charge), surface, 1.0)


def test_grid_around_a_surface_with_faces() -> None:
    made = balls((0, 0, 0, 5))
    points = surface_points(made, density=10)
    whole = Surface(points.points, points.normals, ConvexHull(points.points).simplices)
    bare = Molecule(made.xyz, made.charge)  # needs no radii
    surface, _ = geometry.grid(bare, whole, spacing=1.0, margin=7.0)
    np.testing.assert_allclose(surface.height, np.linalg.norm(surface.points, axis=1) - 5, atol=0.25)
    depth = geometry.with_depth(bare, whole).depth
    np.testing.assert_allclose(depth, [5])


@pytest.mark.parametrize("probe", [1.4, 2.0])
def test_points_in_the_gap_between_two_atoms_are_inside(probe: float) -> None:
    made = balls((-2.5, 0, 0, 2), (2.5, 0, 0, 2), (0, 0, 40, 0))  # an atom without a radius is in nobody's way
    points = surface_points(made, probe, density=40)
    surface, lattice = geometry.grid(made, points, spacing=0.5, margin=0.0, probe=probe)
    assert surface.height is not None
    height = surface.height.reshape(lattice.shape)
    depth = ((2 + probe) ** 2 - 2.5**2) ** 0.5 - probe  # of the neck that the probe leaves
    assert height[5, 0, 0] == pytest.approx(-depth, abs=0.02)
    assert height[5, 0, -1] == pytest.approx((40**2 + 2.5**2) ** 0.5 - 2, abs=0.01)
    middle = Molecule([[0, 0, 0]], [1])
    assert geometry.with_depth(middle, points, probe).depth == pytest.approx([depth], abs=0.02)
    # The nearest of the points alone is further away.
    assert geometry.with_depth(middle, Surface(points.points)).depth > depth + 0.3


def test_depth_of_atoms() -> None:
    made = balls((0, 0, 0, 6), (3, 0, 0, 1), (0, 0, -5, 1))
    sunk = geometry.with_depth(made, surface_points(made, density=30))
    assert sunk.depth is not None
    np.testing.assert_allclose(sunk.depth, [6, 3, 1], atol=0.02)
    assert sunk.xyz is made.xyz


def test_statistics() -> None:
    found = geometry.statistics(np.array([3, -4, 1], dtype=np.float32))
    assert found == {"min": -4, "max": 3, "mean": 0, "rms": pytest.approx((26 / 3) ** 0.5)}
    for wrong, told in (([], "it is empty"), ([3 + 4j], "it cannot be read as real numbers")):
        with pytest.raises(ArrayError, match=f"^phi: {told}"):
            geometry.statistics(np.array(wrong))


def check_atoms(made: Molecule, atoms: int) -> None:
    """What both made molecules promise."""
    assert len(made) == atoms
    assert made.radius is not None
    assert 1 <= made.radius.min() <= made.radius.max() <= 1.9
    assert np.abs(made.charge).max() <= 0.9
    assert made.total_charge == pytest.approx(round(made.total_charge), abs=1e-3)
    assert cKDTree(made.xyz).query(made.xyz, k=2)[0][:, 1].min() > 1.0
    steps = np.linalg.norm(np.diff(made.xyz, axis=0), axis=1)
    assert np.median(steps) < 4


@pytest.mark.parametrize("atoms", [16, 100, 1500, 4001])
def test_globule(atoms: int) -> None:
    made, surface = globule(atoms)
    check_atoms(made, atoms)
    assert made.dtype == surface.dtype == np.float32
    assert abs(made.total_charge) < 3.01
    size = (atoms / 0.1 / (4 / 3 * np.pi)) ** (1 / 3)
    assert electrostatic_size(made) == pytest.approx(size + 0.7, abs=1.3)
    assert closest_contact(made, surface).distance > 0.99
    again, _ = globule(atoms, dtype="float64")
    np.testing.assert_array_equal(again.xyz.astype(np.float32), made.xyz)
    assert (globule(atoms, seed=1)[0].xyz != made.xyz).any()


@pytest.mark.parametrize(("atoms", "vertices"), [(16, 2), (500, 800), (30_000, 41_234)])
def test_capsid(atoms: int, vertices: int) -> None:
    made, surface = capsid(atoms, vertices)
    check_atoms(made, atoms)
    assert len(surface) == vertices
    assert closest_contact(made, surface).distance >= 0.7
    assert surface.normals is not None
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=1), 1, rtol=1e-6)
    outwards = (surface.normals * surface.points).sum(axis=1)
    reach = np.linalg.norm(made.xyz, axis=1)
    assert (np.abs(outwards[outwards > 0]) > reach.max()).all()
    assert (np.abs(outwards[outwards < 0]) < reach.min()).all()
    if atoms == 30_000:
        assert np.ptp(reach) == pytest.approx(15.0, abs=1.5)
        assert (outwards < 0).mean() == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: globule(15), "^atoms: 15 are too few; give at least 16"),
        (lambda: capsid(3), "^atoms: "),
        (lambda: capsid(100, 1), "^vertices: "),
    ],
)
def test_made_molecules_have_a_smallest_size(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()
