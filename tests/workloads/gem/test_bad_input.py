"""What a call cannot take, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration
from workloads.gem.calls import ball, potential


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
    "normals-partly-nan": ({"normals": with_nan(ball()[1].normals)}, "normals: row 1 holds NaN"),
    "height-shape": ({"height": np.zeros(69, np.float32)}, "height: its shape is"),
    "salt-without-normals": ({"normals": None, "salt": 0.1}, "surface: it has no normals, which salt needs"),
    "projection-without-normals": (
        {"normals": None, "projection": 1.0},
        "surface: it has no normals, which a projection",
    ),
    "projection-inside-without-depth": ({"projection": -1.0}, "molecule: it has no depth, which potentials inside"),
    "height-inside-without-depth": (
        {"height": np.full(70, -1e-3, np.float32)},
        "molecule: it has no depth, which potentials inside",
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
    ({"variant": 3}, "variant: it is 3; give a text"),
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


@pytest.mark.parametrize("salt", [0.0, 0.1])
@pytest.mark.parametrize(
    ("dtype", "charge"), [("float32", 1e13), ("float32", 1e37), ("float64", 1e13), ("float64", 1e300)]
)
def test_great_charges_are_named(any_device: gpuopt.Device, dtype: str, charge: float, salt: float) -> None:
    if dtype == "float64" and not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    molecule, surface = ball(dtype)
    with pytest.raises(gpuopt.ArrayError, match=r"^molecule: .* a charge of [0-9.]+e\+[0-9]+ e is beyond what is comp"):
        given(
            xyz=molecule.xyz,
            charge=molecule.charge * molecule.dtype.type(charge),
            points=surface.points,
            normals=surface.normals,
            salt=salt,
            device=any_device,
        )


@pytest.mark.parametrize(("scale", "salt"), [(1e25, 0.0), (1e10, 0.1)])
def test_great_lengths_are_named(any_device: gpuopt.Device, scale: float, salt: float) -> None:
    """Of float32; what is too long for float64 makes no molecule."""
    molecule, surface = ball("float32")
    factor = molecule.dtype.type(scale)
    with pytest.raises(gpuopt.ArrayError, match=r"^molecule: .* a length of [0-9.]+e\+[0-9]+ A, beyond what is comp"):
        given(
            xyz=molecule.xyz * factor,
            charge=molecule.charge,
            points=surface.points * factor,
            normals=surface.normals,
            salt=salt,
            electrostatic_size=10 * scale,
            device=any_device,
        )


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


def test_the_grid_beside_its_points_is_told(any_device: gpuopt.Device) -> None:
    molecule, surface = ball()
    with pytest.raises(gpuopt.ArrayError, match=r"^surface: it is a tuple that holds a Surface.*points, grid = "):
        potential(molecule, (surface, None), device=any_device)
