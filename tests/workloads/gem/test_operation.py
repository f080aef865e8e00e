"""The potential of a molecule as its users call it."""

from __future__ import annotations

import concurrent.futures
import itertools
from typing import Any

import numpy as np
import pytest

import gpuopt
from golden_gem import CHARGE, GOLDEN, NORMALS, SIZE, XYZ
from gpuopt import Configuration, Molecule, Surface
from gpuopt.resolution import resolve
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.pairs import Scene
from gpuopt.workloads.gem.solvation import Model

SALT: dict[str, Any] = {"salt": 0.1}


def small(dtype: str = "float64") -> tuple[Molecule, Surface]:
    """The molecule of the golden values: atoms lie at SIZE less their depth from the centre."""
    depth = SIZE - np.linalg.norm(XYZ, axis=1)
    return Molecule(XYZ, CHARGE, depth=depth).astype(dtype), Surface(SIZE * NORMALS, NORMALS).astype(dtype)


def ball(
    dtype: str = "float32", heights: tuple[float, ...] | None = None, atoms: int = 90, points: int = 70, seed: int = 2
) -> tuple[Molecule, Surface]:
    """Atoms with radii and depths within 8.5 A of the centre; points on the sphere of SIZE, or at heights over it."""
    draw = np.random.default_rng(seed)
    directions = draw.normal(size=(atoms + points, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inner, normals = 0.85 * SIZE * draw.uniform(size=atoms) ** (1 / 3), directions[atoms:]
    height = np.zeros(points) if heights is None else np.resize(heights, points)
    molecule = Molecule(
        directions[:atoms] * inner[:, None],
        draw.uniform(-1, 1, atoms),
        draw.uniform(1, 2, atoms),
        SIZE - inner,
    )
    surface = Surface((SIZE + height)[:, None] * normals, normals, height=None if heights is None else height)
    return molecule.astype(dtype), surface.astype(dtype)


def potential(molecule: Any, surface: Any, **options: Any) -> np.ndarray:
    return gpuopt.gem(molecule, surface, **{"electrostatic_size": SIZE, **options})


def references(molecule: Molecule, surface: Surface, projection: float = 0.0, **options: Any) -> list[np.ndarray]:
    """The potentials, and the magnitude that their rounding errors scale with."""
    arrays = Scene.of(molecule, surface, Model.of(size=SIZE, **options), projection).arrays
    return [oracle.minimal(*arrays), oracle.magnitude(*arrays)]


def assert_close(got: np.ndarray, expected: np.ndarray, magnitude: np.ndarray) -> None:
    relative = 2e-6 if got.dtype == np.float32 else 2e-13
    assert (np.abs(got - expected) <= relative * magnitude).all()


# ---------------------------------------------------------------- values


@pytest.mark.thin(2)
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


# ---------------------------------------------------------------- contacts


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


def test_a_point_on_an_atom_without_charge_is_refused(device: gpuopt.Device) -> None:
    molecule, surface = on_an_atom()
    charge = molecule.charge.copy()
    charge[7] = 0
    with pytest.raises(gpuopt.ArrayError, match=r"^surface: point 33 lies on atom 7"):
        potential((molecule.xyz, charge), surface, device=device)


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
    for form, phi in zip(FORMS, found, strict=True):
        assert np.isfinite(phi).all(), form
        np.testing.assert_allclose(phi, found[0], atol=1e-4, rtol=0, err_msg=str(form))


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


# ---------------------------------------------------------------- errors


def given(**changes: Any) -> np.ndarray:
    """A call whose arguments are right but for the changes."""
    molecule, surface = ball()
    arguments: dict[str, Any] = {
        "xyz": molecule.xyz,
        "charge": molecule.charge,
        "points": surface.points,
        "normals": surface.normals,
        "height": None,
    } | {name: changes.pop(name) for name in ("xyz", "charge", "points", "normals", "height") if name in changes}
    atoms = (arguments["xyz"], arguments["charge"])
    return potential(atoms, (arguments["points"], arguments["normals"], None, arguments["height"]), **changes)


def with_nan(array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    changed.flat[3] = np.nan
    return changed


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "xyz-float16": ({"xyz": np.ones((90, 3), np.float16)}, "xyz: its dtype is"),
    "xyz-integers": ({"xyz": np.ones((90, 3), np.int64)}, "xyz: its dtype is"),
    "xyz-byte-order": ({"xyz": np.ones((90, 3), ">f4")}, "xyz: its dtype is"),
    "xyz-complex": ({"xyz": np.ones((90, 3), np.complex64)}, "xyz: its dtype is"),
    "xyz-shape": ({"xyz": np.ones((90, 2), np.float32)}, r"xyz: its shape is \(90, 2\)"),
    "xyz-empty": ({"xyz": np.empty((0, 3), np.float32), "charge": np.empty(0, np.float32)}, "xyz: it is empty"),
    "xyz-empty-list": ({"xyz": [], "charge": []}, "xyz: its shape is"),
    "xyz-text": ({"xyz": [["a", "b", "c"]]}, "xyz: it cannot be read as numbers"),
    "xyz-nan": ({"xyz": with_nan(ball()[0].xyz)}, "xyz: row 1 holds NaN"),
    "charge-nan": ({"charge": with_nan(ball()[0].charge)}, "charge: row 3 holds NaN"),
    "charge-dtype": ({"charge": np.ones(90)}, "charge: its dtype is float64"),
    "charge-shape": ({"charge": np.ones(89, np.float32)}, "charge: its shape is"),
    "charge-missing": ({"charge": None}, "charge: it is missing"),
    "points-nan": ({"points": with_nan(ball()[1].points)}, "points: row 1 holds NaN"),
    "points-empty": ({"points": np.empty((0, 3), np.float32), "normals": None}, "points: it is empty"),
    "points-float16": ({"points": np.ones((70, 3), np.float16)}, "points: its dtype is"),
    "surface-dtype": ({"points": np.ones((70, 3)), "normals": None}, r"surface: its dtype is float64.*astype"),
    "normals-shape": ({"normals": np.ones((69, 3), np.float32)}, "normals: its shape is"),
    "normals-zero": ({"normals": np.zeros((70, 3), np.float32)}, "normals: row 0 is zero"),
    "height-shape": ({"height": np.zeros(69, np.float32)}, "height: its shape is"),
    "salt-without-normals": ({"normals": None, "salt": 0.1}, "surface: it has no normals, which salt needs"),
    "projection-without-normals": (
        {"normals": None, "projection": 1.0},
        "surface: it has no normals, which a projection",
    ),
    "size-missing": ({"electrostatic_size": None}, "radius: no atom has one"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_bad_arrays_are_named(any_device: gpuopt.Device, case: str) -> None:
    changes, message = ARRAYS[case]
    with pytest.raises(gpuopt.ArrayError, match=f"^{message}") as caught:
        given(**changes, device=any_device)
    assert "; " in str(caught.value)  # what to do
    assert isinstance(caught.value, ValueError)


NUMBERS: list[tuple[dict[str, Any], str]] = [
    ({"salt": -0.1}, "salt: -0.1"),
    ({"salt": np.nan}, "salt: nan"),
    ({"epsilon_in": 0}, "epsilon_in: 0"),
    ({"epsilon_out": -80}, "epsilon_out: -80"),
    ({"ion_exclusion": -1.0}, "ion_exclusion: -1.0"),
    ({"electrostatic_size": -1.0}, "electrostatic_size: -1.0"),
    ({"electrostatic_size": np.nan}, "electrostatic_size: nan"),
    ({"projection": np.nan}, "projection: nan"),
    ({"projection": np.inf}, "projection: inf"),
    ({"projection": 1.0, "height": np.zeros(70, np.float32)}, "projection: the surface's points have heights"),
    ({"phi_type": "sum"}, "phi_type: 'sum'.*'coulomb'"),
    ({"constants": "exact"}, "constants: 'exact'.*'legacy'"),
    ({"constants": {"debye": 3}}, "constants: 'debye'"),
    ({"compat": "gem"}, "compat: 'gem'.*'opendwarfs'"),
    ({"nearest": 0.0}, "nearest: 0.0"),
    ({"nearest": -1.0}, "nearest: -1.0"),
    ({"nearest": np.nan}, "nearest: nan"),
    ({"variant": "nope"}, "variant: gem has none called 'nope'; use one of pairs, tiled"),
    ({"variant": 3}, "variant: 3"),
    ({"variant": "paper:nope"}, ".*paper:basic"),
    ({"variant": Configuration("tiled", TILE=100)}, "TILE: 100 is not one of its levels; use one of 64"),
    ({"variant": Configuration("wide", TILE=64)}, "TILE: gem wide has no such parameter"),
]


@pytest.mark.parametrize(("changes", "message"), NUMBERS, ids=[str(changes) for changes, _ in NUMBERS])
def test_bad_numbers_and_names_are_named(any_device: gpuopt.Device, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(gpuopt.ParameterError, match=f"^{message}"):
        given(**changes, device=any_device)


@pytest.mark.parametrize("name", ["projection", "nearest"])
def test_lengths_that_are_text_are_named(any_device: gpuopt.Device, name: str) -> None:
    with pytest.raises(gpuopt.ParameterError, match=f"^{name}: "):
        given(**{name: "1"}, device=any_device)


@pytest.mark.parametrize("wrong", [None, 5, "protein.pqr", ()], ids=str)
def test_what_is_no_molecule_or_surface_is_named(any_device: gpuopt.Device, wrong: Any) -> None:
    molecule, surface = ball()
    with pytest.raises(gpuopt.Error, match=r"^(molecule|xyz|charge): "):
        potential(wrong, surface, device=any_device)
    with pytest.raises(gpuopt.Error, match=r"^(surface|points): "):
        potential(molecule, wrong, device=any_device)


def test_a_molecule_without_charges_is_named(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    for wrong in (molecule.xyz, (molecule.xyz,)):
        with pytest.raises(gpuopt.Error, match=r"^(molecule|xyz|charge): "):
            potential(wrong, surface, device=any_device)


def test_what_a_device_lacks_is_unsupported(device: gpuopt.Device) -> None:
    molecule, surface = ball()
    if "NVIDIA" not in device.vendor:
        with pytest.raises(gpuopt.UnsupportedError, match="PTX") as caught:
            potential(molecule, surface, variant=Configuration("tiled", RSQRT=2), device=device)
        assert caught.value.because == "device"
    with pytest.raises(gpuopt.UnsupportedError, match="MATH=1 needs VECTOR") as caught:
        potential(molecule, surface, variant=Configuration("pairs", MATH=1), device=device)
    assert caught.value.because == "constraint"
