"""Files of surfaces that are no PLY: MSMS and OFF, whole and broken; junk."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt import io
from gpuopt.io import FormatError, text
from gpuopt.tomo.scan_files import read_angles
from surface_files import FACES, NORMALS, POINTS, VERT, VERT_HEADER, unit, written

FACE = "\n".join(f"{i + 1:6d} {j + 1:6d} {k + 1:6d}  1      1" for i, j, k in FACES)
FACE_HEADER = VERT_HEADER.replace("vert", "face")
OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


READERS: list[tuple[Callable[..., Any], str]] = [
    (io.read_pqr, ".pqr"),
    (io.read_msms, ".vert"),
    (io.read_obj, ".obj"),
    (io.read_off, ".off"),
    (io.read_ply, ".ply"),
    (io.read_surface, ".off"),
]


@pytest.mark.parametrize(("read", "suffix"), READERS)
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\0" * 64, bytes(range(256)) * 40, b"9 " * 600_000, b"\xff\xfe-1 0\n"]
)
def test_junk_is_refused(tmp_path: Path, read: Callable[..., Any], suffix: str, content: bytes) -> None:
    with pytest.raises(FormatError):
        read(written(tmp_path, f"junk{suffix}", content))


@pytest.mark.parametrize(("read", "suffix"), READERS)
def test_what_is_no_file_is_refused(tmp_path: Path, read: Callable[..., Any], suffix: str) -> None:
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    for path in (folder, pipe):
        with pytest.raises(FormatError, match="no regular file"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / f"absent{suffix}"))


class Kept:
    """Lines that say whether they were closed."""

    def __init__(self, lines: Any) -> None:
        self.lines, self.closed = lines, False

    def __iter__(self) -> Any:
        return self.lines

    def __next__(self) -> Any:
        return next(self.lines)

    def close(self) -> None:
        self.lines.close()
        self.closed = True


@pytest.mark.parametrize(
    ("read", "lines", "content"),
    [
        (io.read_pqr, "io.pqr.lines_of", "ATOM 1 C X 1 0 0 zero\n"),
        (io.read_msms, "io.msms.rows_of", "0 0 0 0 0 1\n1 0 0 0 0 1\n0 1 0 0 0 one\n"),
        (io.read_obj, "io.obj.rows_of", "v 0 0 0\nf 1 2\n"),
        (io.read_off, "io.off.rows_of", "OFF\n2 0 0\n0 0 0\n0 0 one\n"),
        (io.read_ply, "io.ply.lines_of", "ply\nformat ascii 1.0\nelement vertex one\n"),
        (read_angles, "tomo.scan_files.rows_of", "0\none\n"),
    ],
    ids=["pqr", "msms", "obj", "off", "ply", "angles"],
)
def test_a_file_is_closed_where_a_line_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[..., Any], lines: str, content: str
) -> None:
    """By its reader, not by Python when it pleases, which drops what a signal's handler raises meanwhile."""
    kept: list[Kept] = []

    def opened(path: Path) -> Kept:
        kept.append(Kept(getattr(text, lines.rpartition(".")[2])(path)))
        return kept[-1]

    monkeypatch.setattr(f"gpuopt.{lines}", opened)
    with pytest.raises(FormatError) as caught:
        read(written(tmp_path, "a.txt", content + 4 * content))
    assert caught.value.line is not None
    assert [one.closed for one in kept] == [True]


@pytest.mark.parametrize("header", [True, False])
def test_msms(tmp_path: Path, header: bool) -> None:
    vert = written(tmp_path, "a.vert", (VERT_HEADER if header else "") + VERT + "\n")
    alone = io.read_msms(vert)
    assert alone.faces is None
    face = written(tmp_path, "a.face", (FACE_HEADER if header else "") + FACE + "\n")
    other = written(tmp_path, "other.face", FACE.splitlines()[0])
    copy = written(tmp_path, "b.FACE", face.read_bytes())
    points = written(tmp_path, "points.txt", vert.read_bytes())
    triangles = written(tmp_path, "triangles.txt", face.read_bytes())
    pairs = [(vert, face), (face, vert), (str(face), str(vert)), (copy, vert), (face, points), (points, face)]
    pairs += [(triangles, vert), (vert, triangles), (points, triangles)]
    for made in (
        *(io.read_msms(*pair) for pair in pairs),
        *(io.read_msms(vert), io.read_msms(face), io.read_surface(str(vert))),
    ):
        np.testing.assert_array_equal(made.points, POINTS)
        np.testing.assert_allclose(made.normals, unit(np.tile([-1, 0.5, 0], (4, 1))), rtol=1e-6)
        np.testing.assert_array_equal(made.faces, FACES)
        assert made.dtype == np.float32
    assert io.read_surface(face).faces is not None
    np.testing.assert_array_equal(io.read_msms(vert, other, dtype=np.float64).faces, FACES[:1])


@pytest.mark.parametrize("density", ["1.0", "1"])
@pytest.mark.parametrize("count", [2, 3])
def test_msms_triangles_of_as_many_fields_as_their_header(tmp_path: Path, count: int, density: str) -> None:
    """The header was taken for a triangle, and its count not looked at."""
    vert = written(tmp_path, "a.vert", VERT + "\n")
    face = written(tmp_path, "a.face", f"{count} 2 {density} 1.5\n1 2 3 1\n2 3 4 1\n")
    if count == 2:
        assert io.read_msms(vert, face).faces.tolist() == [[0, 1, 2], [1, 2, 3]]
    else:
        with pytest.raises(FormatError, match="its header declares 3 faces, it holds 2"):
            io.read_msms(vert, face)


@pytest.mark.parametrize("header", ["", VERT_HEADER])
def test_msms_without_normals(tmp_path: Path, header: str) -> None:
    vert = written(tmp_path, "a.vert", header + "".join(f"{x:g} {y:g} {z:g}\n" for x, y, z in POINTS))
    written(tmp_path, "a.face", FACE)
    made = io.read_msms(vert)
    np.testing.assert_array_equal(made.points, POINTS)
    np.testing.assert_array_equal(made.faces, FACES)
    assert made.normals is None


def test_msms_normals_of_length_zero_are_not_known(tmp_path: Path) -> None:
    zero = VERT.replace("0.500", "0.000", 1).replace("-1.000", " 0.000", 1)
    assert io.read_msms(written(tmp_path, "a.vert", zero)).unknown_normals.tolist() == [0]


@pytest.mark.parametrize(
    ("vert", "face", "line", "message"),
    [
        (VERT_HEADER, None, None, "it holds no points"),
        (VERT_HEADER.replace("      4", "9" * 30), None, 3, "no whole number"),
        (VERT_HEADER.replace("      4", "999999999999") + VERT, None, None, "declares 999999999999 points, it holds 4"),
        (VERT_HEADER + VERT.rsplit("\n", 1)[0], None, None, "declares 4 points, it holds 3"),
        (VERT_HEADER + VERT[:-50], None, 7, "cut off"),
        (VERT.replace(" 0.000", "   nan", 1), None, 1, "not finite"),
        ("1 2 3\n1 2 3 0 0 1 0 1 0\n", None, 2, "it holds 9 fields, the first of the points 3"),
        (VERT + "\n1 2 3\n", None, 5, "6 numbers are needed where 3 fields are"),
        ("1 2 3\n1 2 3\n1 2\n", None, 3, "it holds 2 fields, the first of the points 3"),
        (VERT_HEADER + "1 2 3\n1 2 3\n", None, None, "declares 4 points, it holds 2"),
        (VERT.replace("0.500", "**", 1), None, 1, "does not begin with 6 numbers"),
        (VERT.replace("1.000", "1_000"), None, 1, "does not begin with 6 numbers"),
        (VERT, FACE_HEADER, None, "it holds no faces"),
        (VERT, FACE_HEADER + FACE + "\n" + FACE, None, "declares 4 faces, it holds 8"),
        (VERT, FACE.replace("4", "5"), 2, "names points [1, 2, 5], they go from 1 to 4"),
        (VERT, FACE.replace("4", "0"), 2, "names points [1, 2, 0]"),
        (VERT, FACE.replace("4", "4.5"), 2, "no whole number"),
        (VERT, FACE.replace("4", "1e300"), 2, "no whole number up to 2^53"),
        (VERT, FACE.replace("4", "nan"), 2, "no whole number"),
        (VERT, "1 2 3 1 1\n1 2", 2, "cut off"),
        (VERT, "", None, "it is empty"),
    ],
)
def test_broken_msms_files(tmp_path: Path, vert: str, face: str | None, line: int | None, message: str) -> None:
    path = written(tmp_path, "a.vert", vert)
    if face is not None:
        written(tmp_path, "a.face", face)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_msms(path)
    assert caught.value.line == line
    assert caught.value.path == path.with_suffix(".vert" if face is None else ".face")


@pytest.mark.parametrize(
    "content",
    [
        OFF,
        OFF.replace("OFF\n4", "OFF 4"),
        OFF.replace("OFF\n4", "OFF4"),  # as in ModelNet
        OFF.replace("OFF\n4", "COFF4").replace("1 0 0\n", "1 0 0 .5 .5 .5 1\n"),
        OFF.replace("OFF", "STOFF").replace("1 0 0\n", "1 0 0 .25 .75\n"),
        OFF.replace("OFF", "STCOFF").replace("1 0 0\n", "1 0 0 1 1 1 1 .25 .75\n"),
        "\ufeff".encode().decode("latin-1") + OFF,
        OFF.replace("OFF\n", "OFF # a comment\n# another\n\n").replace("3 0 2 1\n", "3 0 2 1 255 0 0 # red\n\n"),
        OFF.replace("OFF", "COFF").replace("1 0 0\n", "1 0 0 255 0 0 255\n"),
        OFF.replace("\n", "\r\n"),
        OFF.replace("4 4 6", "4 6 6") + "2 0 1\n1 0\n",  # lines and dots are no triangles
    ],
)
def test_off(tmp_path: Path, content: str) -> None:
    made = io.read_off(written(tmp_path, "a.off", content))
    np.testing.assert_array_equal(made.points, POINTS)
    np.testing.assert_array_equal(made.faces, FACES)
    assert made.normals is None


@pytest.mark.parametrize("keyword", ["NOFF", "CNOFF", "STCNOFF", "OFF+N", "OFF+N+A"])
def test_off_with_normals_and_polygons(tmp_path: Path, keyword: str) -> None:
    rows = [" ".join(map(str, [*point, *normal, 7])) for point, normal in zip(POINTS, NORMALS, strict=True)]
    content = "\n".join([keyword, "4 2 0", *rows, "4 0 1 2 3", "3 0 1 2"])
    made = io.read_surface(written(tmp_path, "a.OFF", content), dtype=np.float64)
    np.testing.assert_allclose(made.normals, unit(NORMALS.astype(np.float64)))
    np.testing.assert_array_equal(made.faces, [[0, 1, 2], [0, 2, 3], [0, 1, 2]])
    points_alone = "\n".join([keyword, "4 0 0", *rows])
    assert io.read_off(written(tmp_path, "b.off", points_alone)).faces is None


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("ply\n", 1, "it begins with 'ply', not with OFF, COFF, NOFF or STOFF"),
        ("8 6 12\n0 0 0\n", 1, "it begins with '8', not with OFF"),
        ("OFF8x 6 12\n0 0 0\n", 1, "it begins with 'OFF8x', not with OFF"),
        ("OFF BINARY\n4 4 0\n", 1, "followed by BINARY, and only text is read"),
        ("4OFF\n1 0 0\n0 0 0 1\n", 1, "'4OFF' files have no points x y z"),
        ("nOFF\n2 1 0 0\n0 0\n", 1, "'nOFF' files have no points x y z"),
        ("C4nOFF 3\n1 0 0\n", 1, "'C4nOFF' files have no points x y z"),
        ("OFF\n", 1, "counts of points and faces are not both there"),
        ("OFF4\n", 1, "counts of points and faces are not both there"),
        ("OFF\n4\n", 2, "counts of points and faces are not both there"),
        ("OFF\nfour 4 0\n", 2, "no whole number"),
        (OFF.replace("\n", " "), 1, "'0 0 0 1 0 0 0 1 0 0 0 1 3 0 2 1 3 0 1 3 3 0 3 2 3 1 2 3' follows the counts"),
        (OFF.replace("6\n", "6 "), 2, "'0 0 0' follows the counts on their line; write the file again, each point and"),
        (OFF.replace("0\n", "0 "), None, "1 lines follow the points; write the file again, each point and each face"),
        ("OFF\n0 0 0\n", None, "declares 0 points"),
        ("OFF\n-1 0 0\n0 0 0\n", None, "declares -1 points"),
        ("OFF\n999999999999999999 4 0\n0 0 0\n", None, "declares 999999999999999999 points, and 1 lines follow"),
        ("OFF\n99999999999999999999 4 0\n0 0 0\n", 2, "no whole number"),
        (OFF.replace("4 4 6", "4 999999999999 6"), None, "declares 999999999999 faces, and 4 lines follow"),
        (OFF.replace("4 4 6", "4 -4 6"), None, "declares -4 faces; declare 0 or more"),
        (OFF.replace("4 4 6", "9 4 6"), None, "declares 9 points, and 8 lines follow"),
        (OFF.replace("3 1 2 3\n", "3 1 2"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "999999999999 1 2 3"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "-3 1 2 3"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "3 1 2 4"), 10, "names points [1, 2, 4], they go from 0 to 3"),
        (OFF.replace("3 1 2 3", "3 1 2 -3"), 10, "names points [1, 2, -3]"),
        (OFF.replace("3 1 2 3", "2 1 4"), 10, "names points [1, 4], they go from 0 to 3"),
        (OFF.replace("3 1 2 3", "1 -1"), 10, "names points [-1], they go from 0 to 3"),
        (OFF.replace("3 1 2 3", "3 1 2 3.0"), 10, "no whole number"),
        (OFF.replace("0 0 1", "0 0 nan"), 6, "not finite"),
        (OFF.replace("0 0 1", "0 0 1e40"), 6, "not finite in float32"),
        (OFF.replace("0 0 1", "0 0 -1e31"), 6, "row holds a coordinate beyond 1e+30 A; correct it"),
        (OFF.replace("0 0 1", "0 1"), 6, "3 numbers are needed where 2 fields are"),
        (OFF.replace("OFF", "NOFF"), 3, "6 numbers are needed"),
    ],
)
def test_broken_off_files(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    path = written(tmp_path, "broken.off", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_off(path)
    assert (caught.value.path, caught.value.line) == (path, line)
