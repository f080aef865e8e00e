"""STL surfaces: text and binary, merged corners, normals of points, and broken files."""

from __future__ import annotations

import os
import re
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gpuopt import Error, io
from gpuopt.io import FormatError
from surface_files import written

needs_trimesh = pytest.mark.skipif(find_spec("trimesh") is None, reason="STL is read by trimesh, of the extra lab")

POINTS = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=np.float32)
FACES = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [2, 1, 3]]  # counter-clockwise from outside
NORMALS = np.array([[0, 0, -1], [0, -1, 0], [-1, 0, 0], np.full(3, 3**-0.5)])


def text(faces: list[list[int]] | None = None, normals: np.ndarray = NORMALS, name: str = "x") -> str:
    lines = [f"solid {name}"]
    for face, normal in zip(FACES if faces is None else faces, normals, strict=False):
        lines += [f"  facet normal {' '.join(f'{v:g}' for v in normal)}", "    outer loop"]
        lines += [f"      vertex {' '.join(f'{v:e}' for v in POINTS[corner])}" for corner in face]
        lines += ["    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {name}\n"])


def binary(head: bytes = b"made by hand", normals: np.ndarray = NORMALS, count: int = 4) -> bytes:
    rows = [
        struct.pack("<12fH", *normal, *POINTS[face].ravel(), 7) for face, normal in zip(FACES, normals, strict=True)
    ]
    return head.ljust(80) + struct.pack("<I", count) + b"".join(rows)


def facet(*corners: tuple[float, float, float]) -> str:
    listed = "".join(f"vertex {x!r} {y!r} {z!r}\n" for x, y, z in corners)
    return f"solid\nfacet normal 0 0 0\nouter loop\n{listed}endloop\nendfacet\nendsolid\n"


@needs_trimesh
@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-8, 1e-12])
def test_thin_triangles_weigh_what_their_angles_are(tmp_path: Path, angle: float) -> None:
    """Below 1e-8 they had no weight at all, above it one that was up to some percent off."""
    one, other = (1.0, angle, 0.0), (1.0, 0.0, -3 * angle)
    content = facet((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), one) + facet((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), other)
    made = io.read_stl(written(tmp_path, "a.stl", content), dtype=np.float64)
    expected = np.array([0, np.arctan(3 * angle), np.arctan(angle)])
    assert made.normals is not None
    np.testing.assert_allclose(made.normals[0], expected / np.linalg.norm(expected), atol=1e-12)
    np.testing.assert_allclose(made.normals[1:], [[0, 0.5**0.5, 0.5**0.5], [0, 0, 1], [0, 1, 0]], atol=1e-3)


@needs_trimesh
@pytest.mark.parametrize(
    "content",
    [
        text(),
        text().upper(),
        text().replace("\n", "\r\n"),
        text().replace("  ", "\t"),
        text(name="Åsa's"),
        text(FACES[:1]) + text(FACES[1:], NORMALS[1:], "y"),
        text(FACES[:1]) + text(FACES[1:], NORMALS[1:]),  # two solids of one name
        text().replace("vertex 0.0", "vertex -0.0"),
        binary(),
        binary(b"solid in name alone"),
        binary(normals=np.zeros((4, 3))),
    ],
)
def test_text_and_binary(tmp_path: Path, content: str | bytes) -> None:
    path = written(tmp_path, "a.stl", content)
    for made in (io.read_stl(path), io.read_surface(path, dtype=np.float64)):
        np.testing.assert_array_equal(made.points, POINTS)
        assert made.faces is not None
        assert made.faces.tolist() == FACES
        assert made.normals is not None
        np.testing.assert_allclose(made.normals[0], np.full(3, -(3**-0.5)), rtol=1e-6)
        assert ((made.normals * POINTS).sum(axis=1)[1:] > 0.5).all()  # outwards, mostly along the point's own axis
    assert made.dtype == np.float64


@needs_trimesh
def test_normals_of_points_are_weighted_by_angle(tmp_path: Path) -> None:
    """A square cut in two counts as one face: its diagonal gives no side of a corner more weight."""
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float32)
    squares = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [[s[0], s[k], s[k + 1]] for s in squares for k in (1, 2)]
    rows = [struct.pack("<12fH", 0, 0, 0, *cube[triangle].ravel(), 0) for triangle in triangles]
    made = io.read_stl(written(tmp_path, "a.stl", bytes(80) + struct.pack("<I", 12) + b"".join(rows)))
    assert len(made) == 8
    np.testing.assert_allclose(made.normals, np.sign(made.points - 0.5) / np.sqrt(3), rtol=1e-6)


@needs_trimesh
@pytest.mark.parametrize("unit", [1e-6, 2e-7, 1e-10, 1e-30, 1e30])
def test_small_triangles_have_their_say(tmp_path: Path, unit: float) -> None:
    """Two that meet at right angles at the origin, each a right angle wide there, one of them ``unit`` long."""
    lines = ["solid x"]
    for second, third in (((1, 0, 0), (0, 1, 0)), ((unit, 0, 0), (0, 0, unit))):
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {:e} {:e} {:e}".format(*at) for at in ((0, 0, 0), second, third)] + ["endloop", "endfacet"]
    made = io.read_stl(written(tmp_path, "a.stl", "\n".join([*lines, "endsolid x\n"])), dtype=np.float64)
    assert made.normals is not None
    np.testing.assert_allclose(made.normals[0], [0, -(0.5**0.5), 0.5**0.5], atol=1e-12)
    np.testing.assert_allclose(made.normals[-1], [0, -1, 0], atol=1e-12)


@needs_trimesh
def test_only_equal_corners_are_merged(tmp_path: Path) -> None:
    near = text().replace("vertex 1.000000e+00", "vertex 1.0000001e+00", 1)
    assert len(io.read_stl(written(tmp_path, "a.stl", near), dtype=np.float64)) == 5


@needs_trimesh
def test_points_of_triangles_without_area_have_no_known_normal(tmp_path: Path) -> None:
    flat = text([*FACES[:1], [3, 3, 3]], np.zeros((2, 3)))
    made = io.read_stl(written(tmp_path, "a.stl", flat))
    assert made.unknown_normals.tolist() == [3]
    np.testing.assert_allclose(made.normals[:3], [NORMALS[0]] * 3, atol=1e-6)
    for content in (text([[0, 1, 1]]), text([[0, 1, 2], [0, 2, 1]], np.zeros((2, 3)))):  # lines, or back to back
        made = io.read_stl(written(tmp_path, "b.stl", content))
        assert made.normals is None
        assert made.faces is not None


@needs_trimesh
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it holds no whole solid"),
        ("\n", "it holds no whole solid"),
        (bytes(range(256)) * 40, "it holds no whole solid"),
        (binary()[:-1], "it holds no whole solid"),
        (binary() + b"x", "it holds no whole solid"),
        (binary(count=3), "it holds no whole solid"),
        (binary(count=2**32 - 1), "it holds no whole solid"),
        (binary(b"solid", count=2**32 - 1), "it holds no whole solid"),
        (bytes(84), "it holds no whole solid"),
        (text().rsplit("endsolid", 1)[0], "it holds no whole solid"),
        (
            text(FACES[:1]) + text(FACES[1:], NORMALS[1:], "y")[:-50],
            "begins 4 facets, of which 1 were read from whole solids",
        ),
        (text().replace("1.0", "x", 1), "trimesh cannot read it"),
        (text().replace("      vertex 1.000000e+00 0.000000e+00 0.000000e+00\n", "", 1), "trimesh cannot read it"),
        (text().replace("vertex 1.000000e+00 0", "vertex 0", 1), "trimesh cannot read it"),
        (text().replace("1.000000e+00", "nan", 1), "not finite"),
        (text().replace("1.000000e+00", "inf", 1), "not finite"),
        (text().replace("1.000000e+00", "1e40"), "not finite in float32"),
        (text([[0, 1], [2, 0, 2, 3], *FACES[2:]]), "facet 1 has 2 vertices"),  # twelve in all
        (text(normals=-NORMALS), "4 of 4 facet normals point against the order"),
        (binary(normals=-NORMALS), "4 of 4 facet normals point against the order"),
        (text(FACES[:1]) * 1001, "'endsolid' stands in it 1001 times, and 1000 solids at most"),
    ],
)
def test_broken_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = written(tmp_path, "a.stl", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_stl(path)
    assert (caught.value.path, caught.value.line) == (path, None)
    assert len(str(caught.value)) < len(str(path)) + 300


@needs_trimesh
def test_files_cut_off_anywhere(tmp_path: Path) -> None:
    for content, last in ((text().encode(), text().rindex("endsolid") + 8), (binary(), len(binary()))):
        for length in range(0, last, 7):
            with pytest.raises(FormatError):
                io.read_stl(written(tmp_path, "a.stl", content[:length]))


@needs_trimesh
def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.stl")
    for path in (tmp_path, tmp_path / "pipe.stl"):
        with pytest.raises(FormatError, match="no regular file"):
            io.read_stl(path)
    with pytest.raises(FileNotFoundError):
        io.read_stl(tmp_path / "absent.stl")


def test_without_trimesh_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(Error, match=re.escape("pip install 'gpuopt[lab]'")):
        io.read_surface(written(tmp_path, "a.stl", text()))
