"""Wavefront OBJ surfaces: the spellings that programs write, normals named by corners, and broken files."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from gpuopt import io
from gpuopt.io import FormatError
from surface_files import written

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
V = "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in POINTS)
PLAIN = V + "f 1 2 3\nf 1 2 4\n"
FACES = [[0, 1, 2], [0, 1, 3]]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        "# åsa's\nmtllib a.mtl\n" + PLAIN.replace("f 1 2 4", "usemtl b\ng two\ns off\nf 1 2 4  # the second"),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace(" ", "\t"),
        "  " + PLAIN.replace("\n", "\n  ").replace(" ", "  "),
        PLAIN.replace("f 1 2 3", "f 1/1 2/1 3/2").replace("v 1 0 0", "v 1 0 0 1\nvt 0 0"),
        PLAIN.replace("v 1 0 0", "v 1 0 0 .5 .5 .5"),
        PLAIN.replace("f 1 2 3", "fo 1 2 3"),  # as OBJ files before 3.0 spell it
        PLAIN.replace("f 1 2 3", "f 1 \\\n  2\\\n 3"),
        PLAIN.replace("f 1 2 3", "f -4 -3 -2").replace("f 1 2 4", "l 1 2\np 3\nf 1 -3 4"),
        V.replace("v 0 0 1", "f -3 -2 -1\nv 0 0 1") + "f -4 -3 -1\n",  # counted back from where the face stands
    ],
)
def test_spellings(tmp_path: Path, content: str | bytes) -> None:
    made = io.read_obj(written(tmp_path, "a.obj", content))
    np.testing.assert_array_equal(made.points, POINTS)
    assert made.faces is not None
    assert made.faces.tolist() == FACES
    assert made.normals is None
    assert made.dtype == np.float32


def test_polygons_become_fans_and_points_without_faces_stay(tmp_path: Path) -> None:
    made = io.read_surface(written(tmp_path, "a.obj", V + "v 2 2 2\nv 3 3 3\nf 1 2 3 4 5\nf 2 3 4\n"), dtype=np.float64)
    assert made.faces is not None
    assert made.faces.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4], [1, 2, 3]]
    assert len(made) == 6
    assert made.dtype == np.float64


def test_points_alone(tmp_path: Path) -> None:
    made = io.read_obj(written(tmp_path, "a.obj", V))
    assert (len(made), made.faces, made.normals) == (4, None, None)
    normals = "vn 0 0 2\nvn 1 0 0\nvn 0 1 0\nvn 0 0 1\n"
    made = io.read_obj(written(tmp_path, "a.obj", V + normals))
    np.testing.assert_array_equal(made.normals, [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert io.read_obj(written(tmp_path, "a.obj", V + normals[:-9])).normals is None


def test_normals_named_by_corners(tmp_path: Path) -> None:
    """In another order than the points, once more than there are points, with texture and without."""
    content = V + "vn 9 9 9\nvn 0 0 1\nvn 0 2 0\nvn 1 0 0\nf 1//3 2//4 3//2\nf 1//3 2/7/4 4//-1\n"
    made = io.read_obj(written(tmp_path, "a.obj", content))
    np.testing.assert_array_equal(made.normals, [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]])


def test_a_point_with_several_normals_has_their_mean(tmp_path: Path) -> None:
    flat = V + "vn 0 0 3\nvn 5 5 5\nvn 0 1 0\nf 1//1 2//1 3//1\nf 1//3 2//3 4//3\nf 2//3 1//3 4//3\n"
    made = io.read_obj(written(tmp_path, "a.obj", flat))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(made.normals, [[0, half, half], [0, half, half], [0, 0, 1], [0, 1, 0]], atol=1e-7)


def test_where_a_point_has_no_normal_there_are_none(tmp_path: Path) -> None:
    some = V + "vn 0 0 1\nf 1//1 2//1 3//1\nf 1 2 4\n"
    assert io.read_obj(written(tmp_path, "a.obj", some)).normals is None
    unnamed = V + "vn 0 0 1\n" * 4 + "f 1 2 3\n"
    assert io.read_obj(written(tmp_path, "a.obj", unnamed)).normals is None


def test_normals_of_length_zero_are_not_known(tmp_path: Path) -> None:
    against = V + "vn 0 0 1\nvn 0 0 -1\nf 1//1 2//1 3//1\nf 1//2 2//1 4//1\n"
    made = io.read_obj(written(tmp_path, "a.obj", against))
    assert made.unknown_normals.tolist() == [0]
    zero = V + "vn 0 0 0\nvn 0 2 0\nf 1//1 2//1 3//2\nf 1//2 2//1 4//2\n"
    made = io.read_obj(written(tmp_path, "a.obj", zero))
    np.testing.assert_array_equal(made.normals, [[0, 1, 0], [np.nan] * 3, [0, 1, 0], [0, 1, 0]])
    all_zero = V + "vn 0 0 0\nf 1//1 2//1 3//1\nf 1//1 2//1 4//1\n"
    assert io.read_obj(written(tmp_path, "a.obj", all_zero)).normals is None


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "it is empty"),
        ("# nothing\n", None, "it holds no points"),
        (bytes(range(256)) * 40, 1, "it holds a zero byte"),
        (PLAIN + "v " + "1 " * 600_000, 7, "it is 1,048,576 bytes or longer"),
        (PLAIN.replace("v 1 0 0", "v 1 x 0"), 2, "does not begin with 3 numbers"),
        (PLAIN.replace("v 1 0 0", "v 1_0 0 0"), 2, "does not begin with 3 numbers"),
        (PLAIN.replace("v 1 0 0", "v 1 0"), 2, "3 numbers are needed where 2 fields are"),
        (PLAIN.replace("v 1 0 0", "v 1 nan 0"), 2, "not finite"),
        (PLAIN.replace("v 1 0 0", "v 1e40 0 0"), 2, "not finite in float32"),
        (PLAIN.replace("f 1 2 3", "f 0 1 2"), 5, "'0' names nothing: 4 stand before it"),
        (PLAIN.replace("f 1 2 3", "f 1 2 -5"), 5, "'-5' names nothing: 4 stand before it"),
        (PLAIN.replace("f 1 2 3", "f 1 2 5"), 5, "names points [1, 2, 5], they go from 1 to 4"),
        (PLAIN.replace("f 1 2 3", "f 1 2 999999999999999999999"), 5, "no whole number of up to 18 digits"),
        (PLAIN.replace("f 1 2 3", "f 1 2 x"), 5, "no whole number"),
        (PLAIN.replace("f 1 2 3", "f 1 2 3.0"), 5, "no whole number"),
        (PLAIN.replace("f 1 2 3", "f 1 2 /3"), 5, "no whole number"),
        (PLAIN.replace("f 1 2 4", "f 1 2"), 6, "no face of three points"),
        (PLAIN.replace("f 1 2 4", "f"), 6, "no face of three points"),
        (PLAIN.replace("f 1 2 4", "f 1 2 \\"), 6, "no other joins it"),
        (PLAIN + "vn 0 0 1\nf 1//1 2//1 3//2\n", 8, "names normal 2 of 1"),
        (PLAIN + "vn 0 0 1\nf 1//1 2//1 3//0\n", 8, "'0' names nothing"),
        (PLAIN + "f 1//1 2//1 3//1\n", 7, "names normal 1 of 0"),
        (V + "vn 0 0 1\nvn 0 nan 1\nf 1//1 2//1 3//1\nf 1//1 2//1 4//1\n", 6, "not finite in float64"),
    ],
)
def test_broken_files(tmp_path: Path, content: str | bytes, line: int | None, message: str) -> None:
    path = written(tmp_path, "a.obj", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_obj(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_huge_indices_take_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path, "a.obj", V + "f 999999999999999 999999999999998 3//999999999999999\n")
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            io.read_obj(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(60)
def test_a_statement_of_many_lines_takes_no_longer_than_many_statements(tmp_path: Path) -> None:
    """Each line used to copy all before it: a file of 1 MB took minutes."""
    path = written(tmp_path, "long.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf " + "1 2 \\\n" * 300_000 + "3\n")
    surface = io.read_obj(path)
    assert surface.faces is not None
    assert len(surface.faces) == 599_999
