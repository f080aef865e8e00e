"""Arrays of molecules and surfaces stay as they were checked: nobody can write NaN into them afterwards."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Molecule, Surface

XYZ, CHARGE, RADIUS = np.array([[0.0, 0, 0], [0, 0, 3]]), np.array([1.0, -1]), np.array([1.0, 2])
POINTS, NORMALS = np.array([[0.0, 0, 5], [0, 5, 0], [5, 0, 0]]), np.array([[0.0, 0, 2], [0, 1, 0], [1, 0, 0]])

SAME: list[Callable[[Any], Any]] = [
    lambda one: one,
    copy.copy,
    copy.deepcopy,
    lambda one: pickle.loads(pickle.dumps(one)),
    lambda one: one.astype(np.float32),
    replace,
]


def molecule() -> Molecule:
    return Molecule(XYZ.copy(), CHARGE.copy(), RADIUS.copy(), RADIUS.copy())


def surface() -> Surface:
    return Surface(POINTS.copy(), NORMALS.copy(), np.array([[0, 1, 2]], np.int32), np.zeros(3))


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("made", [molecule, surface])
def test_their_arrays_cannot_be_written_to(made: Callable[[], Any], same: Callable[[Any], Any]) -> None:
    one = same(made())
    arrays = vars(one)
    assert len(arrays) == 4
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


class Named(Molecule):
    __slots__ = ("names",)


@pytest.mark.parametrize("same", SAME[1:4])
def test_what_a_subclass_adds_stays_as_it_is(same: Callable[[Any], Any]) -> None:
    """A shallow copy shares it with its original."""
    one, names, forces = Named(XYZ, CHARGE, RADIUS, RADIUS), np.array([0, 0]), np.zeros((2, 3))
    object.__setattr__(one, "names", names)
    object.__setattr__(one, "forces", forces)
    for made in (same(one), same(same(one))):
        made.names[0], made.forces[0] = 1, 1
        assert (names[0] == 1) == (same is copy.copy)
        assert not any(array.flags.writeable for array in (made.xyz, made.charge, made.radius, made.depth))
    names[0], forces[0] = 2, 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_later_changes_of_what_was_given_have_no_effect(any_device: gpuopt.Device, dtype: type) -> None:
    given = [array.astype(dtype) for array in (XYZ, CHARGE, RADIUS)]
    points, normals, faces = POINTS.astype(dtype), NORMALS.astype(dtype), np.array([[0, 1, 2]])
    atoms, places = Molecule(*given), Surface(points, normals, faces)
    before = gpuopt.gem(atoms, places, device=any_device)
    for array in (*given, points, normals):
        array[:] = np.nan
    faces[:] = -1
    np.testing.assert_array_equal(gpuopt.gem(atoms, places, device=any_device), before)
    assert places.faces is not None
    assert places.faces.tolist() == [[0, 1, 2]]


def test_memory_that_only_looks_read_only_is_copied(tmp_path: Path) -> None:
    """NaN came in behind the check: through the buffer that a read-only view is of, and through a mapped file."""
    buffer = bytearray(XYZ.tobytes())
    view = np.frombuffer(memoryview(buffer).toreadonly()).reshape(2, 3)
    np.save(tmp_path / "xyz.npy", XYZ)
    mapped = np.load(tmp_path / "xyz.npy", mmap_mode="r")
    for given in (view, view[::1], mapped, np.asarray(mapped)):
        assert not np.shares_memory(Molecule(given, CHARGE).xyz, given)
    for given in (np.frombuffer(XYZ.tobytes()).reshape(2, 3), np.frombuffer(memoryview(XYZ.tobytes())).reshape(2, 3)):
        assert np.shares_memory(Molecule(given, CHARGE).xyz, given)
    own = XYZ.copy()
    own.flags.writeable = False
    assert np.shares_memory(Molecule(own[:], CHARGE).xyz, own)


def test_what_a_call_is_given_stays_writable(any_device: gpuopt.Device) -> None:
    xyz, charge, points = XYZ.copy(), CHARGE.copy(), POINTS.copy()
    gpuopt.gem((xyz, charge, RADIUS.copy()), points, device=any_device)
    for array in (xyz, charge, points):
        array[0] = 1.0


def test_what_shares_memory_with_another_object_is_copied() -> None:
    class Shared:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return self.array

    array = XYZ.copy()
    made = Molecule(Shared(array), CHARGE)  # type: ignore[arg-type]
    array[:] = np.nan
    np.testing.assert_array_equal(made.xyz, XYZ)


@pytest.mark.parametrize("dtype", [np.dtype("q"), np.dtype("i8", metadata={"a": 1}), np.dtype("i4")])
def test_faces_of_any_whole_numbers_are_copied(dtype: np.dtype[Any]) -> None:
    faces = np.array([[0, 1, 2]], dtype)
    one = Surface(POINTS, None, faces)
    faces[:] = -1
    assert one.faces is not None
    assert one.faces.tolist() == [[0, 1, 2]]


def test_a_problem_keeps_arrays_of_its_own() -> None:
    charge, points = CHARGE.copy(), POINTS.copy()
    made = gpuopt.problems.gem((XYZ, charge, RADIUS), points)
    assert not np.shares_memory(made.inputs["molecule"].charge, charge)
    assert not np.shares_memory(made.inputs["surface"].points, points)


def test_views_whose_owner_may_write_are_copied() -> None:
    """As columns of a data frame are, or what a bytearray holds."""
    xyz, charge = np.zeros((2, 3)), np.ones(2)
    view, raw = charge.view(), bytearray(charge.tobytes())
    view.flags.writeable = False
    of_bytes = np.frombuffer(raw)
    of_bytes.flags.writeable = False
    for given in (view, of_bytes):
        molecule = gpuopt.Molecule(xyz, given)
        charge[0] = 5
        raw[:] = bytes(16)
        np.testing.assert_array_equal(molecule.charge, [1, 1])
        charge[0] = 1
        raw[:] = charge.tobytes()
    never = np.frombuffer(bytes(charge.tobytes()))
    assert np.shares_memory(gpuopt.Molecule(xyz, never).charge, never)
    again = gpuopt.Molecule(molecule.xyz, molecule.charge)
    assert np.shares_memory(again.charge, molecule.charge)
