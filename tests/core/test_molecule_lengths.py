"""Molecules and surfaces of any lengths: computed right, or refused by name."""

from __future__ import annotations

import tracemalloc
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import gpuopt
from gpuopt import ArrayError, ParameterError, problems
from gpuopt import molecule as geometry
from gpuopt.molecule import Molecule, Surface, closest_contact, electrostatic_size, surface_points
from gpuopt.point_arrays import LONGEST

BALL = Molecule([[0, 0, 0]], [1], [2])
AROUND = surface_points(BALL)
FARTHEST = Molecule([[-LONGEST] * 3, [LONGEST] * 3], [1, 1], [1, 1])


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Molecule([[0, 0, 0], [1e200, 0, 0]], [1, 1], [1, 1]),
            r"^xyz: row 1 holds 1e\+200 A; give lengths in A",
        ),
        (lambda: Molecule([[0, 0, 0], [0, -1.1e30, 0]], [1, 1]), r"^xyz: row 1 holds -1\.1e\+30 A"),
        (lambda: Molecule(np.full((1, 3), 3e38, np.float32), np.ones(1, np.float32)), r"^xyz: row 0 holds 3e\+38 A"),
        (lambda: Molecule([[0, 0, 0]] * 2, [1, 1], [1, 1e150]), r"^radius: row 1 holds 1e\+150 A"),
        (lambda: Surface([[0, 0, 0], [0, 0, 1e200]]), r"^points: row 1 holds 1e\+200 A"),
    ],
)
def test_lengths_beyond_all_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ArrayError, match=message):
        make()


@pytest.mark.parametrize("length", [1e31, 1e155, 1e160, 1e308, np.inf, np.nan])
def test_parameters_beyond_all_are_refused(length: float) -> None:
    for call, name in (
        (lambda: geometry.grid(BALL, AROUND, length), "spacing"),
        (lambda: geometry.grid(BALL, AROUND, 1.0, margin=length), "margin"),
        (lambda: geometry.grid(BALL, AROUND, 50.0, probe=length), "probe"),
        (lambda: geometry.at_atoms(BALL, AROUND, probe=length), "probe"),
        (lambda: geometry.with_depth(BALL, AROUND, probe=length), "probe"),
        (lambda: geometry.at_atoms(BALL, Surface(AROUND.points), probe=length), "probe"),
        (lambda: geometry.with_depth(BALL, Surface(AROUND.points), probe=length), "probe"),
        (lambda: surface_points(BALL, probe=length), "probe"),
    ):
        with pytest.raises(ParameterError, match=f"^{name}: "):
            call()


def test_a_grid_ends_where_lengths_do() -> None:
    for given in ({"spacing": LONGEST}, {"spacing": LONGEST, "margin": LONGEST}, {"spacing": 1e29, "margin": 9.9e29}):
        if given == {"spacing": LONGEST}:
            points, lattice = geometry.grid(BALL, AROUND, **given)
            assert lattice.shape == (2, 2, 2)
            assert points.height is not None
            np.testing.assert_allclose(points.height, 0.75**0.5 * LONGEST)
            continue
        with pytest.raises(ParameterError, match=r"^spacing: 1e\+\d\d A, with a margin of .* ends beyond 1e\+30 A"):
            geometry.grid(Molecule([[1e29, 0, 0]], [1], [1]), AROUND, **given)
    with pytest.raises(ParameterError, match=r"^spacing: 5e-324 A makes inf points"):
        geometry.grid(FARTHEST, AROUND, 5e-324)


@pytest.mark.parametrize("radius", [1.3417426502061351, float(np.float32(1.3))])
def test_a_grid_takes_radii_whose_squares_round_apart(radius: float) -> None:
    """The square of the largest radius, computed alone, was an ulp below the same among all."""
    ball = Molecule([[0, 0, 0]], [1], [radius])
    points, _ = geometry.grid(ball, Surface([[0, 0, radius]], [[0, 0, 1]]), spacing=5.0, margin=1.0)
    assert points.height is not None
    assert np.isfinite(points.height).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_longest_lengths_are_computed(dtype: type) -> None:
    far = FARTHEST.astype(dtype)
    corner = Surface(np.full((1, 3), LONGEST, dtype), np.ones((1, 3), dtype))
    assert closest_contact(far, corner) == (0, 1, 0)
    assert closest_contact(BALL, corner) == (pytest.approx(3**0.5 * LONGEST), 0, 0)
    depths = geometry.with_depth(far, corner, probe=0).depth
    np.testing.assert_allclose(depths, [2 * 3**0.5 * LONGEST, 0], rtol=1e-6)
    np.testing.assert_array_equal(geometry.at_atoms(far, corner, probe=0).height, -np.asarray(depths))
    assert "2000000000000" in repr(FARTHEST)
    with pytest.raises(ArrayError, match=r"^xyz: the atoms end beyond 1e\+30 A"):
        surface_points(Molecule([[LONGEST, 0, 0]], [1], [LONGEST]), density=1e-60)
    assert len(surface_points(Molecule([[0, 0, 0]], [1], [LONGEST]), density=1e-60)) == 13


def balls(radius: float, distance: float) -> Molecule:
    return Molecule([[-distance / 2, 0, 0], [distance / 2, 0, 0]], [1, 1], [radius, radius])


@pytest.mark.parametrize("unit", [1e-200, 1e-60, 1.0, 1e20])
@pytest.mark.parametrize("distance", [0.0, 1e-9, 1.0, 1e4, 1e9])
def test_electrostatic_size_of_two_balls_at_any_scale(unit: float, distance: float) -> None:
    """I = diag(2 s, 2 s + d^2 / 2, 2 s + d^2 / 2) for s = 2/5 and two balls of mass 1 and radius 1."""
    expected = (5 / 4) ** 0.5 * (0.8 * (0.8 + distance**2 / 2) ** 2) ** (1 / 6)
    plain = balls(unit, unit * distance)
    assert electrostatic_size(plain) == pytest.approx(unit * expected, rel=1e-12, abs=0)
    turned = Molecule(Rotation.random(random_state=3).apply(plain.xyz.copy()), plain.charge, plain.radius)
    assert electrostatic_size(turned) == pytest.approx(unit * expected, rel=1e-6, abs=0)


def test_electrostatic_size_of_points_on_a_line_is_above_zero() -> None:
    expected = (5 / 4) ** 0.5 * 0.8 ** (1 / 6) * 1e-200 ** (1 / 3) * 0.5 ** (1 / 3)
    assert electrostatic_size(balls(1e-200, 1.0)) == pytest.approx(expected, rel=1e-12, abs=0)


def test_more_directions_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert geometry.fibonacci_sphere(0).shape == (0, 3)
    for count in (-1, 10**9):
        with pytest.raises(ParameterError, match=f"count: {count} directions are out of range; give 0 to 100,000,000"):
            geometry.fibonacci_sphere(count)
    monkeypatch.setattr(geometry.host_memory, "free_bytes", lambda: 1000)
    with pytest.raises(ParameterError, match="count: 99 directions need 0 MB, where 0 MB are free; take fewer"):
        geometry.fibonacci_sphere(99)
    ball = Molecule([[0, 0, 0]], charge=[1], radius=[2])
    with pytest.raises(ParameterError, match="density: 151 points need 0 MB, where 0 MB are free; take fewer"):
        geometry.surface_points(ball)
    surface = Surface([[0, 0, 2]], normals=[[0, 0, 1]])
    with pytest.raises(ParameterError, match="spacing: 64 points need 0 MB, where 0 MB are free; take fewer"):
        geometry.grid(ball, surface, spacing=2.0, margin=3.0)


def test_points_are_tested_in_parts_where_many_atoms_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    crowd = Molecule(random.uniform(0, 4, (30, 3)), charge=np.ones(30), radius=random.uniform(1, 2, 30))
    whole = geometry.surface_points(crowd, density=20)
    monkeypatch.setattr(geometry, "_AT_ONCE", 100)
    parts = geometry.surface_points(crowd, density=20)
    assert np.array_equal(whole.points, parts.points)


@pytest.fixture(params=["points", "faces"])
def around_a_ball(request: pytest.FixtureRequest) -> Surface:
    made = geometry.surface_points(Molecule([[0, 0, 0]], [1], [5.0]))
    return Surface(made.points, made.normals, ConvexHull(made.points).simplices if request.param == "faces" else None)


@pytest.mark.parametrize("away", [5.5, 6.5, 8.0, 9.0, 15.0, 1e3, 1e6])
def test_an_atom_outside_has_no_depth(around_a_ball: Surface, away: float) -> None:
    """Nor has one that is farther from the surface than a probe is wide."""
    two = Molecule([[0, 0, 0], [away, 0, 0]], [1, -1], [2, 1.8])
    for depth in (geometry.with_depth(two, around_a_ball).depth, -geometry.at_atoms(two, around_a_ball).height):  # type: ignore[operator]
        np.testing.assert_allclose(depth, [5, 0], rtol=1e-3)
    for salt in (0.0, 0.1):
        with pytest.raises(ArrayError, match=r"^surface: atom 1 has a charge and lies on it or outside"):
            gpuopt.solvation_energy(two, around_a_ball, salt=salt)
    assert geometry.with_depth(two, Surface(around_a_ball.points)).depth[1] > 0.5 - 1e-3  # type: ignore[index]


def test_atoms_in_the_water_of_a_torus_and_between_atoms_are_outside() -> None:
    """Where the places near to them go on behind, and where few are near."""
    rng = np.random.default_rng(3)
    around, along = (part.ravel() for part in np.meshgrid(*(np.linspace(0, 2 * np.pi, n, False) for n in (48, 96))))

    def tube(radius: float, t: np.ndarray, p: np.ndarray) -> np.ndarray:
        reach = 12 + radius * np.cos(p)
        return np.stack([reach * np.cos(t), reach * np.sin(t), radius * np.sin(p)], axis=1)

    walls = tube(4.0, along, around)
    surface = Surface(walls, walls - tube(0.0, along, around))
    t, p = rng.uniform(0, 2 * np.pi, (2, 500))
    for height, outside in ((1.5, True), (3.0, True), (-2.0, False)):
        atoms = Molecule(tube(4.0 + height, t, p), np.ones(500))
        depth = geometry.with_depth(atoms, surface, probe=0.0).depth
        assert depth is not None
        assert (depth == 0).all() == outside
        assert (depth > 0).all() != outside
    globule, _ = problems.globule(300)
    xyz, radius = globule.xyz, globule.radius
    water = rng.uniform(-14, 14, (3000, 3)) + xyz.mean(axis=0)
    water = water[(np.linalg.norm(water[:, np.newaxis] - xyz, axis=2) - radius).min(axis=1) > 1.45]
    both = Molecule(np.vstack([xyz, water]), np.ones(300 + len(water)), [*radius, *np.zeros(len(water))])
    depth = geometry.with_depth(both, surface_points(globule, density=3.0)).depth
    assert depth is not None
    assert (depth[:300] > 0).all()
    assert (depth[300:] == 0).all()


def test_atoms_by_creases_and_cavities_are_inside() -> None:
    """The place nearest to one may be of a wall that faces it: of two that meet, or the only one of a small cavity."""
    pair = Molecule([[0, 0, 0], [5.7, 0, 0], [1.2, 0, 0]], [1, 1, 1], [1.5, 1.5, 0])
    rng = np.random.default_rng(2)
    ball = geometry.fibonacci_sphere(60) * 6.0
    filled = Molecule(np.vstack([ball, 0.7 * ball]), rng.uniform(-1, 1, 120), np.full(120, 1.4))
    for atoms in (pair, filled):
        for density in (0.5, 1.0, 3.0, 10.0):
            surface = geometry.surface_points(atoms, density=density)
            depth = geometry.with_depth(atoms, surface).depth
            assert depth is not None
            assert depth.min() > 0.2
    one = np.array([[0.0, 0, -1.0]])  # a cavity's only point
    shell = geometry.fibonacci_sphere(900)
    walls = Surface(np.vstack([9 * shell, one]), np.vstack([shell, -one]))
    deep = geometry.with_depth(Molecule([[0, 0, 3.0]], [1]), walls).depth
    np.testing.assert_allclose(deep, [4 - 2 * 1.4], atol=1e-9)


@pytest.mark.parametrize("unit", [5e-324, 1e-170, 1.0, 1e170, 1e307])
def test_statistics_of_any_magnitude(unit: float) -> None:
    found = geometry.statistics(np.array([3.0, -4.0, 5.0, 4.0, 12.0]) * unit)
    np.testing.assert_allclose([found["mean"], found["rms"]], [4 * unit, 42**0.5 * unit], rtol=1e-15, atol=5e-324)
    assert geometry.statistics(np.zeros(2))["rms"] == 0
    assert geometry.statistics(np.array([1.0, -np.inf]))["rms"] == np.inf


def test_statistics_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    phi = np.random.default_rng(4).normal(3, 2, (50, 7))
    whole = geometry.statistics(phi)
    assert whole["mean"] == pytest.approx(phi.mean(), rel=1e-15)
    monkeypatch.setattr(geometry, "_VALUES_AT_ONCE", 16)
    assert geometry.statistics(phi) == pytest.approx(whole, rel=1e-14)


@pytest.mark.parametrize("place", [0, 20, 49])
def test_statistics_of_what_is_no_number(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    monkeypatch.setattr(geometry, "_VALUES_AT_ONCE", 16)
    phi = np.arange(50.0)
    phi[place] = np.nan
    assert all(map(np.isnan, geometry.statistics(phi).values()))


def test_a_density_at_which_no_point_is_free() -> None:
    rng = np.random.default_rng(193)
    hidden = Molecule(rng.normal(size=(30, 3)) * 0.1, np.ones(30), rng.uniform(0.5, 2, 30))
    with pytest.raises(ParameterError, match=r"^density: none of the points is free at 0.03 per square A; give"):
        surface_points(hidden, probe=0, density=0.03)
    assert len(surface_points(hidden, probe=0, density=3)) > 10


def test_points_are_refused_where_memory_would_not_hold_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ball = Molecule([[0, 0, 0]], charge=[1], radius=[20])
    tracemalloc.start()
    try:
        geometry.surface_points(ball, density=4.0)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(geometry.host_memory, "free_bytes", lambda: taken - 1)
    with pytest.raises(ParameterError, match="density: 20,106 points need"):
        geometry.surface_points(ball, density=4.0)
