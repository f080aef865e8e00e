"""Text reads the same whatever its lines end in: a line feed, a carriage return, or both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt import io, lab
from gpuopt.io import FormatError
from gpuopt.lab.rows.store import Store
from gpuopt.tomo.scan_files import read_angles

PQR = "ATOM 1 NA NA 1 0.0 0.0 0.0 1.0 2.0\nATOM 2 CL CL 2 0.0 0.0 5.0 -1.0 1.8\n"
VERT = "# made by hand\n0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 1\n"
OBJ = "# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 \\\n3 4\n"
OFF = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
PLY = (
    "ply\nformat ascii 1.0\ncomment hand\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)
STL = (
    "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    "facet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n"
)


def arrays(surface: Any) -> list[np.ndarray]:
    return [array for array in (surface.points, surface.normals, surface.faces) if array is not None]


def of_molecule(path: Path) -> list[np.ndarray]:
    found = io.read_pqr(path)
    return [found.xyz, found.charge, found.radius]


def angles(path: Path) -> list[np.ndarray]:
    return [read_angles(path)]


CASES: list[tuple[str, str, Callable[[Path], list[np.ndarray]]]] = [
    ("a.pqr", PQR, of_molecule),
    ("a.vert", VERT, lambda path: arrays(io.read_msms(path))),
    ("a.obj", OBJ, lambda path: arrays(io.read_obj(path))),
    ("a.off", OFF, lambda path: arrays(io.read_off(path))),
    ("a.ply", PLY, lambda path: arrays(io.read_ply(path))),
    ("a.stl", STL, lambda path: arrays(io.read_stl(path))),
    ("angles.txt", "# degrees\n0\n45\n90\n", angles),
]


@pytest.mark.parametrize(("name", "text", "read"), CASES, ids=[name for name, _, _ in CASES])
def test_lines_end_in_any_of_the_three(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], list[np.ndarray]]
) -> None:
    if name.endswith(".stl"):
        pytest.importorskip("trimesh")
    found = []
    for end in (b"\n", b"\r\n", b"\r"):
        path = tmp_path / name
        path.write_bytes(text.encode().replace(b"\n", end))
        found.append(read(path))
    for other in found[1:]:
        assert len(other) == len(found[0])
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_line_that_is_wrong_is_named(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "a.pqr"
    path.write_bytes(PQR.encode().replace(b"1.8", b"nought").replace(b"\n", end))
    with pytest.raises(FormatError, match="line 2"):
        io.read_pqr(path)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_many_lines_are_no_endless_line(tmp_path: Path, end: bytes) -> None:
    """2.4 MB; a chunk of the reader ends within a line, and between the two bytes of an end."""
    for lead in range(0, 40, 13):
        path = tmp_path / "a.off"
        rows = b"".join(b"%d 0 0   " % k + end for k in range(200_000))
        path.write_bytes(b"OFF" + b" " * lead + end + b"200000 0 0" + end + rows)
        assert io.read_off(path, dtype=np.float64).points[:, 0].tolist() == list(range(200_000))


@pytest.mark.parametrize("length", [(1 << 20) - 1, 1 << 20, 3 << 20])
def test_an_endless_line_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.off"
    path.write_bytes(b"OFF\r1 0 0\r" + b"9" * length)
    with pytest.raises(FormatError, match="line 3"):
        io.read_off(path)


def test_a_binary_ply_whose_header_ends_in_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    head = b"ply\rformat binary_little_endian 1.0\relement vertex 2\r" + b"".join(
        b"property float %s\r" % axis for axis in (b"x", b"y", b"z")
    )
    points = np.array([[1, 2, 3], [4, 5, 6]], dtype="<f4")
    path.write_bytes(head + b"end_header\r" + points.tobytes())
    np.testing.assert_array_equal(io.read_ply(path).points, points)


def test_results_files(tmp_path: Path) -> None:
    """The next append used to cut off all of them, as an unfinished last line."""
    path = tmp_path / "rows.jsonl"
    store = Store(path)
    for variant in ("naive", "tiled"):
        store.append({"kind": "search", "status": "ok", "variant": variant, "median_ms": 3.0})
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    again = lab.Store(path)
    assert [row["variant"] for row in again.latest()] == ["naive", "tiled"]
    assert not again.problems
    again.append({"kind": "search", "status": "ok", "variant": "wide", "median_ms": 3.0})
    assert [row["variant"] for row in Store(path).latest()] == ["naive", "tiled", "wide"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("first", [9, 10, 13, 32])
def test_binary_points_begin_right_behind_the_header(tmp_path: Path, mark: bytes, end: bytes, first: int) -> None:
    """A byte order mark is counted, and a first byte that would end a line is data."""
    axes = [b"property uchar " + axis for axis in (b"x", b"y", b"z")]
    header = [b"ply", b"format binary_little_endian 1.0", b"element vertex 2", *axes, b"end_header", b""]
    path = tmp_path / "a.ply"
    path.write_bytes(mark + end.join(header) + bytes([first, 1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(io.read_ply(path).points, [[first, 1, 2], [3, 4, 5]])
