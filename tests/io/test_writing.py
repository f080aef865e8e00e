"""DX and VTK files, and how files are written: whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt import ArrayError, ParameterError, io
from gpuopt.files import WriteError
from gpuopt.molecule import Grid, Surface
from surface_files import FACES, NORMALS, PHI, POINTS


def test_dx(tmp_path: Path) -> None:
    lattice = Grid((-1.5, 0, 2), 0.5, (2, 3, 4))
    values = np.linspace(-1, 1, 24)
    for k, given in enumerate((values, values.reshape(2, 3, 4))):
        io.write_dx(tmp_path / f"{k}.dx", given, lattice)
    text = (tmp_path / "0.dx").read_text()
    assert text == (tmp_path / "1.dx").read_text()
    lines = text.splitlines()
    assert lines[1:6] == [
        "object 1 class gridpositions counts 2 3 4",
        "origin -1.5 0 2",
        "delta 0.5 0 0",
        "delta 0 0.5 0",
        "delta 0 0 0.5",
    ]
    assert lines[7] == "object 3 class array type double rank 0 items 24 data follows"
    numbers = [float(word) for line in lines[8:16] for word in line.split()]
    np.testing.assert_allclose(numbers, values, rtol=1e-8)
    assert lines[16] == 'attribute "dep" string "positions"'


@pytest.mark.parametrize("count", [1, 2, 3, 30_000])
def test_dx_of_any_length(tmp_path: Path, count: int) -> None:
    io.write_dx(tmp_path / "a.dx", np.arange(count), Grid((0, 0, 0), 1, (count, 1, 1)))
    body = (tmp_path / "a.dx").read_text().split("follows\n")[1].split("attribute")[0]
    assert [int(word) for word in body.split()] == list(range(count))
    assert max(len(line.split()) for line in body.splitlines()) <= 3


@pytest.mark.parametrize("full", [True, False])
def test_vtk(tmp_path: Path, full: bool) -> None:
    given = Surface(POINTS, NORMALS, FACES) if full else Surface(POINTS)
    io.write_vtk(tmp_path / "a.vtk", given, PHI)
    lines = (tmp_path / "a.vtk").read_text().splitlines()
    assert lines[0] == "# vtk DataFile Version 3.0"
    assert lines[2:5] == ["ASCII", "DATASET POLYDATA", "POINTS 4 float"]
    assert lines[5:9] == ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    assert lines[9:11] == (["POLYGONS 4 16", "3 0 2 1"] if full else ["VERTICES 4 8", "1 0"])
    assert lines[14:17] == ["POINT_DATA 4", "SCALARS potential double 1", "LOOKUP_TABLE default"]
    assert lines[17:21] == ["-2", "0", "1", "4"]
    assert ("NORMALS normals float" in lines) == full


WRITERS: list[Callable[[Path, Any], None]] = [
    lambda path, phi: io.write_ply(path, Surface(POINTS), phi),
    lambda path, phi: io.write_vtk(path, Surface(POINTS), phi),
    lambda path, phi: io.write_dx(path, phi, Grid((0, 0, 0), 1, (2, 2, 1))),
]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "phi", [PHI[:3], np.append(PHI, 1), [1, 2, 3, np.nan], [1, 2, 3, np.inf], ["a"] * 4, PHI * 1j, None]
)
def test_potentials_that_do_not_fit_leave_the_old_file(
    tmp_path: Path, write: Callable[[Path, Any], None], phi: Any
) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(ArrayError, match=r"^(phi|values): "):
        write(path, phi)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("a", "old")]


@pytest.mark.parametrize("shape", [(3, 2, 1), (2, 3), (3, 2), (6, 1), (1, 6), (1, 1, 6), (1, 2, 3, 1), ()])
def test_potentials_of_another_shape_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    phi = np.arange(6.0).reshape(shape) if shape else np.array(1.0)
    points = Surface(np.eye(6, 3))
    with pytest.raises(ArrayError, match=r"^values: .*; give 6 real numbers of shape \(6,\) or \(1, 2, 3\)$"):
        io.write_dx(tmp_path / "a.dx", phi, Grid((0, 0, 0), 1.0, (1, 2, 3)))
    for write in (io.write_vtk, io.write_ply):
        with pytest.raises(ArrayError, match=r"^phi: .*; give 6 real numbers of shape \(6,\)$"):
            write(tmp_path / "a", points, phi)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", WRITERS)
def test_a_disk_that_fills_leaves_the_old_file(
    tmp_path: Path, write: Callable[[Path, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(WriteError, match="No space"):
            write(path, PHI)
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("a", "old")]
    write(path, PHI)
    assert path.read_bytes() != b"old"


def test_threads_that_write_one_mesh_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    draw = np.random.default_rng(1)
    surface = Surface(draw.standard_normal((5000, 3)))

    def write(number: int) -> None:
        io.write_ply(path, surface, np.full(5000, float(number)), limit=1.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(120)))
    assert [found.name for found in tmp_path.iterdir()] == ["a.ply"]
    assert len(io.read_ply(path).points) == 5000


@pytest.mark.parametrize("write", WRITERS)
def test_files_are_written_where_links_point_and_nowhere_odd(
    tmp_path: Path, write: Callable[[Path, Any], None]
) -> None:
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    write(link, PHI)
    assert link.is_symlink()
    assert target.stat().st_size
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for odd in (tmp_path, pipe):
        with pytest.raises(ParameterError, match="no regular file"):
            write(odd, PHI)
    with pytest.raises(WriteError, match="make the folder"):
        write(tmp_path / "absent" / "a", PHI)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["link", "pipe", "target"]


def test_numbers_in_float64_are_read_back_as_they_were(tmp_path: Path) -> None:
    points, phi = np.array([[1 / 3, 2e12 / 3, 0.1], [12345.678901234, -1e-9 / 3, 5]]), np.array([1 / 3, np.pi])
    io.write_vtk(tmp_path / "a.vtk", Surface(points), phi)
    assert np.array_equal(np.loadtxt(tmp_path / "a.vtk", skiprows=5, max_rows=2), points)
    assert (tmp_path / "a.vtk").read_text().split()[-2:] == ["0.33333333333333331", "3.1415926535897931"]
    io.write_dx(tmp_path / "a.dx", phi, Grid((1e12 / 3, 0.1, 0), 1 / 3, (2, 1, 1)))
    lines = (tmp_path / "a.dx").read_text().splitlines()
    assert [float(one) for one in lines[2].split()[1:]] == [1e12 / 3, 0.1, 0]
    assert lines[2].split()[2] == "0.1"
    assert float(lines[3].split()[1]) == 1 / 3
    assert [float(one) for one in lines[8].split()] == phi.tolist()


def test_numbers_that_overflow_are_told_alike_whatever_numpy_is_set_to(tmp_path: Path) -> None:
    path, surface = tmp_path / "a.ply", Surface(np.eye(3))
    with np.errstate(all="raise"):
        io.write_ply(path, surface, np.array([1e10, 0.0, -1e10]), limit=1e-300)
        with pytest.raises(ArrayError, match="phi: number 1 is NaN or infinity"):
            io.write_ply(path, surface, np.array([0, np.longdouble("1e400"), 0]))
    assert path.read_bytes().startswith(b"ply")


@pytest.mark.parametrize(
    "grid",
    [
        Grid((0, 0, 0), 0, (2, 2, 1)),
        Grid((0, 0, 0), -1.0, (2, 2, 1)),
        Grid((0, 0, 0), float("inf"), (2, 2, 1)),
        Grid((float("nan"), 0, 0), 1, (2, 2, 1)),
        Grid((0, 0, 0), 1, (-2, -2, 1)),
    ],
)
def test_a_grid_that_is_none(tmp_path: Path, grid: Grid) -> None:
    with pytest.raises(ParameterError, match="grid: "):
        io.write_dx(tmp_path / "a.dx", np.zeros(4), grid)
    assert not list(tmp_path.iterdir())
