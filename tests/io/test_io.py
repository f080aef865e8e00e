"""Files of molecules and surfaces: the spellings that programs write, what is read back, and broken files."""

from __future__ import annotations

import os
import pickle
import re
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuopt import ArrayError, Error, ParameterError, io
from gpuopt.files import WriteError
from gpuopt.io import FormatError
from gpuopt.molecule import Grid, Surface

PDB_LIKE = "ATOM      1  N   ASY     1      46.331  15.935  -4.837 -0.470 1.850"
POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
NORMALS = np.array([[-1, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
VERT = "\n".join(f"{x:9.3f} {y:9.3f} {z:9.3f} {-1:9.3f} {0.5:9.3f} {0:9.3f}       0       1  0" for x, y, z in POINTS)
FACE = "\n".join(f"{i + 1:6d} {j + 1:6d} {k + 1:6d}  1      1" for i, j, k in FACES)
VERT_HEADER = (
    "# MSMS solvent excluded surface vertices for x\n#vertex #sphere density probe_r\n      4       1  3.00  1.50\n"
)
FACE_HEADER = VERT_HEADER.replace("vert", "face")
OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("latin-1"))
    return path


def ply(order: str, normals: bool = True, faces: bool = True, extra: bool = False) -> bytes:
    """The tetrahedron, written here without the library; with other elements and properties about it."""
    lines = ["ply", f"format {order} 1.0", "comment made by hand", "obj_info of no interest"]
    if extra:
        lines += ["element camera 2", "property list uchar short marks", "property double focus"]
    lines += ["element vertex 4", *(f"property float {axis}" for axis in "xyz")]
    lines += ["property uchar red"] if extra else []
    lines += [f"property double n{axis}" for axis in "xyz"] if normals else []
    if faces:
        lines += ["element face 2"]
        lines += ["property uint8 flag", "property list uchar float32 uv"] if extra else []
        lines += ["property list uchar int vertex_index"]
    header = "\n".join([*lines, "end_header\n"]).encode()
    mark = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(order)
    rows: list[tuple[str, list[float]]] = []
    if extra:
        rows += [("Bhhd", [2, -7, 9, 0.5]), ("Bd", [0, 1.5])]
    for point, normal in zip(POINTS.tolist(), NORMALS.tolist(), strict=True):
        rows.append(("fff" + "B" * extra + "ddd" * normals, point + [200] * extra + normal * normals))
    if faces:
        rows.append(("BBff" * extra + "Biii", [1, 2, 0.5, 0.25] * extra + [3, 0, 2, 1]))
        rows.append(("BB" * extra + "Biiii", [1, 0] * extra + [4, 0, 1, 2, 3]))
    if mark is None:
        return header + "".join(" ".join(map(str, values)) + "\n" for _, values in rows).encode()
    return header + b"".join(
        struct.pack(mark + form, *(v if c in "fd" else int(v) for c, v in zip(form, values, strict=True)))
        for form, values in rows
    )


@pytest.mark.parametrize(
    "line",
    [
        PDB_LIKE,
        PDB_LIKE + "   N",
        PDB_LIKE + "  PROT N1+",
        PDB_LIKE.replace("ATOM  ", "HETATM"),
        PDB_LIKE.replace("   1  ", "  36A "),
        PDB_LIKE.replace("ASY     1", "ASY A1000"),
        "ATOM 1 0 ### 0 46.331 15.935 -4.837 -.47 1.85",
        "ATOM\t1\tN\tASY\t46.331\t15.935\t-4.837\t-0.47\t1.85",  # no residue number
        "HETATM12345 N ASY A 1 46.331 1.5935e1 -4.837 -4.7E-1 +1.85",
        "  atom 1 N ASY 1 46.331 15.935 -4.837 -0.470 1.850\r",
    ],
)
def test_spellings_of_an_atom(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, "a.pqr", f"REMARK Åsa's atom 1\nCRYST1\n\nMODEL 1\n{line}\nTER\nEND\nENDMDL\n")
    made = io.read_pqr(path)
    assert made.radius is not None
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made.xyz, np.float32([[46.331, 15.935, -4.837]]))
    np.testing.assert_array_equal([made.charge[0], made.radius[0]], np.float32([-0.47, 1.85]))


@pytest.mark.parametrize(
    ("line", "xyz"),
    [
        ("ATOM   5346  O   ASN A 664     -34.085 -67.825-100.826 -0.582 1.661", (-34.085, -67.825, -100.826)),
        (
            "ATOM   5346  O   ASN A 664    -134.085-167.825-100.826 -0.582 1.661           O",
            (-134.085, -167.825, -100.826),
        ),
        ("ATOM   5346  O   ASN A 664    1134.0852167.8253100.826 -0.582 1.661", (1134.085, 2167.825, 3100.826)),
        ("ATOM   5346  O   ASN A 664    1134.0852167.8253100.826-0.582 1.661", (1134.085, 2167.825, 3100.826)),
    ],
)
def test_columns_that_grew_together(tmp_path: Path, line: str, xyz: tuple[float, ...]) -> None:
    path = written(tmp_path, "a.pqr", line)
    made = io.read_pqr(path, dtype=np.float64)
    np.testing.assert_array_equal(made.xyz[0], xyz)
    np.testing.assert_array_equal(made.charge, [-0.582])


def test_hand_written_whole_numbers(tmp_path: Path) -> None:
    made = io.read_pqr(written(tmp_path, "a.pqr", "ATOM 1 I ION 1 0 0 0.5 1 2\nATOM 2 I ION 2 0 3 0 -1 2"), np.float64)
    np.testing.assert_array_equal(made.xyz, [[0, 0, 0.5], [0, 3, 0]])
    assert made.charge.tolist() == [1, -1]


GOOD = PDB_LIKE + "\n"
PDB = "".join(
    f"ATOM  {k:5d}  CA  ALA A{k:4d}    {k:8.3f}   1.000   2.000  1.00 20.00           C  \n" for k in range(20)
)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("", None, "it is empty"),
        ("\n\n", None, "no ATOM or HETATM record"),
        ("REMARK nothing\nEND\n", None, "no ATOM or HETATM record"),
        (os.urandom(0) + bytes(range(256)) * 50, 1, "it is binary"),
        (GOOD.encode("utf-16"), 1, "it is binary"),
        (b"A" * 3_000_000, 1, "it is binary"),
        (GOOD * 2 + GOOD[:45], 3, "does not end in x y z charge radius"),
        (GOOD + "ATOM", 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "   nan"), 2, "not finite in float32"),
        (GOOD + GOOD.replace("46.331", "  -inf"), 2, "not finite"),
        (GOOD + GOOD.replace("46.331", "  1e99"), 2, "not finite in float32"),
        (GOOD + GOOD.replace("46.331", "******"), 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "46,331"), 2, "does not end in"),
        (GOOD + GOOD.replace("46.331", "46_331"), 2, "does not end in"),
        (GOOD + GOOD.replace("1.850", "*****"), 2, "behind its residue number"),
        (GOOD + GOOD.replace(" 1.850", ""), 2, "behind its residue number"),
        (GOOD + GOOD.replace("-0.470 1.850", ""), 2, "does not end in"),
        (GOOD + "ATOM      1  N   ASY A   1    -146.331-115.935-104.837 -0.470", 2, "behind its residue number"),
        (GOOD + "ATOM      1  N   ASY A   1    1146.3311115.9351104.837 -0.470", 2, "behind its residue number"),
        (GOOD + GOOD.replace("-0.470 1.850", "1.850 -0.470"), 2, "radius -0.47 is negative; the charge comes first"),
        ("MODEL 1\n" + GOOD + "ENDMDL\nMODEL 2\n" + GOOD + "ENDMDL\n", 5, "a second model"),
        (PDB, None, "PDB file's occupancies"),
        ("ATOM   1    N  N   . VAL A 1 1 ? 6.204 16.869 4.854 1.00 49.05 ? 1 VAL A N 1\n", 1, "does not end in"),
    ],
)
def test_broken_pqr_files(tmp_path: Path, content: str | bytes, line: int | None, message: str) -> None:
    path = written(tmp_path, "broken.pqr", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_pqr(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
    assert len(str(caught.value)) < len(str(path)) + 300


def test_format_errors_are_errors_that_travel() -> None:
    error = FormatError("a.pqr", 3, "what; do")
    assert isinstance(error, Error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.line) == ("a.pqr, line 3: what; do", Path("a.pqr"), 3)


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


def unit(normals: np.ndarray) -> np.ndarray:
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.parametrize("header", [True, False])
def test_msms(tmp_path: Path, header: bool) -> None:
    vert = written(tmp_path, "a.vert", (VERT_HEADER if header else "") + VERT + "\n")
    alone = io.read_msms(vert)
    assert alone.faces is None
    face = written(tmp_path, "a.face", (FACE_HEADER if header else "") + FACE + "\n")
    other = written(tmp_path, "other.face", FACE.splitlines()[0])
    for made in (io.read_msms(vert), io.read_msms(vert, face), io.read_msms(face), io.read_surface(str(vert))):
        np.testing.assert_array_equal(made.points, POINTS)
        np.testing.assert_allclose(made.normals, unit(np.tile([-1, 0.5, 0], (4, 1))), rtol=1e-6)
        np.testing.assert_array_equal(made.faces, FACES)
        assert made.dtype == np.float32
    assert io.read_surface(face).faces is not None
    np.testing.assert_array_equal(io.read_msms(vert, other, dtype=np.float64).faces, FACES[:1])


@pytest.mark.parametrize(
    ("vert", "face", "line", "message"),
    [
        (VERT_HEADER, None, None, "it holds no points"),
        (VERT_HEADER.replace("      4", "9" * 30), None, 3, "no whole number"),
        (VERT_HEADER.replace("      4", "999999999999") + VERT, None, None, "declares 999999999999 points, it holds 4"),
        (VERT_HEADER + VERT.rsplit("\n", 1)[0], None, None, "declares 4 points, it holds 3"),
        (VERT_HEADER + VERT[:-50], None, 7, "cut off"),
        (VERT.replace(" 0.000", "   nan", 1), None, 1, "not finite"),
        (VERT.replace("0.500", "0.000", 2).replace("-1.000", " 0.000", 2), None, 1, "length zero"),
        (VERT.replace("0.500", "**", 1), None, 1, "does not begin with 6 numbers"),
        (VERT.replace("1.000", "1_000"), None, 1, "does not begin with 6 numbers"),
        (VERT, FACE_HEADER, None, "it holds no faces"),
        (VERT, FACE_HEADER + FACE + "\n" + FACE, None, "declares 4 faces, it holds 8"),
        (VERT, FACE.replace("4", "5"), 2, "names points [1, 2, 5], they go from 1 to 4"),
        (VERT, FACE.replace("4", "0"), 2, "names points [1, 2, 0]"),
        (VERT, FACE.replace("4", "4.5"), 2, "no whole number"),
        (VERT, FACE.replace("4", "1e300"), 2, "no whole number"),
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


@pytest.mark.parametrize("keyword", ["NOFF", "CNOFF", "OFF+N", "OFF+N+A"])
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
        ("ply\n", 1, "does not begin with OFF"),
        ("OFF BINARY\n4 4 0\n", 1, "in text"),
        ("4OFF\n1 0 0\n0 0 0 1\n", 1, "does not begin with OFF"),
        ("OFF\n", 1, "counts of points and faces are missing"),
        ("OFF\n4\n", 2, "counts of points and faces are missing"),
        ("OFF\nfour 4 0\n", 2, "no whole number"),
        ("OFF\n0 0 0\n", None, "declares 0 points"),
        ("OFF\n-1 0 0\n0 0 0\n", None, "declares -1 points"),
        ("OFF\n999999999999999999 4 0\n0 0 0\n", None, "declares 999999999999999999 points and holds 1"),
        ("OFF\n99999999999999999999 4 0\n0 0 0\n", 2, "no whole number"),
        (OFF.replace("4 4 6", "4 999999999999 6"), None, "declares 999999999999 faces and holds 4"),
        (OFF.replace("4 4 6", "4 -4 6"), None, "declares -4 faces"),
        (OFF.replace("4 4 6", "9 4 6"), None, "declares 9 points and holds 8"),
        (OFF.replace("3 1 2 3\n", "3 1 2"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "999999999999 1 2 3"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "-3 1 2 3"), 10, "is no face"),
        (OFF.replace("3 1 2 3", "3 1 2 4"), 10, "names points [1, 2, 4], they go from 0 to 3"),
        (OFF.replace("3 1 2 3", "3 1 2 -3"), 10, "names points [1, 2, -3]"),
        (OFF.replace("3 1 2 3", "3 1 2 3.0"), 10, "no whole number"),
        (OFF.replace("0 0 1", "0 0 nan"), 6, "not finite"),
        (OFF.replace("0 0 1", "0 0 1e40"), 6, "not finite in float32"),
        (OFF.replace("0 0 1", "0 1"), 6, "3 numbers are needed, not 2"),
        (OFF.replace("OFF", "NOFF"), 3, "6 numbers are needed"),
    ],
)
def test_broken_off_files(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    path = written(tmp_path, "broken.off", content)
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        io.read_off(path)
    assert (caught.value.path, caught.value.line) == (path, line)


ORDERS = ["ascii", "binary_little_endian", "binary_big_endian"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("normals", [False, True])
def test_ply(tmp_path: Path, order: str, extra: bool, normals: bool) -> None:
    made = io.read_ply(written(tmp_path, "a.ply", ply(order, normals, True, extra)))
    np.testing.assert_array_equal(made.points, POINTS)
    np.testing.assert_array_equal(made.faces, [[0, 2, 1], [0, 1, 2], [0, 2, 3]])
    if normals:
        np.testing.assert_allclose(made.normals, unit(NORMALS), rtol=1e-6)
    else:
        assert made.normals is None
    cloud = io.read_surface(written(tmp_path, "b.ply", ply(order, normals, False, extra)))
    np.testing.assert_array_equal(cloud.points, POINTS)
    assert cloud.faces is None


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("extra", [False, True])
def test_ply_files_cut_off_anywhere(tmp_path: Path, order: str, extra: bool) -> None:
    content = ply(order, extra=extra)
    last = len(content) - 2 if order == "ascii" else len(content)  # the last digit or the last line break may go
    for length in range(last):
        with pytest.raises(FormatError):
            io.read_ply(written(tmp_path, "a.ply", content[:length]))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ply\n", "plyx\n", "does not begin with the line 'ply'"),
        ("1.0\n", "1.0 2\n", "no meaning"),
        ("format", "formal", "no meaning"),
        ("end_header", "the_header", "no meaning"),
        ("float x", "float w", "no x, y and z"),
        ("float x", "half x", "no meaning"),
        ("float x", "list uchar float x", "properties that are lists"),
        ("list uchar int vertex_index", "int vertex_index", "no lists of whole numbers"),
        ("list uchar int", "list float int", "no meaning"),
        ("list uchar int", "list uchar float", "no lists of whole numbers"),
        ("element vertex 4", "element vertex 0", "it holds no points|no whole number"),
        ("element vertex", "element corner", "it holds no points"),
        ("element vertex 4", "element vertex -4", "no meaning"),
        ("element vertex 4", "element vertex four", "no whole number"),
        ("element vertex 4", "element vertex 999999999999999999", "cut off"),
        ("element vertex 4", "element vertex 9999999999999999999", "no whole number"),
        ("element face 2", "element face 999999999999999999", "cut off"),
    ],
)
def test_headers_that_lie(tmp_path: Path, order: str, old: str, new: str, message: str) -> None:
    content = ply(order)
    assert old.encode() in content
    path = written(tmp_path, "a.ply", content.replace(old.encode(), new.encode(), 1))
    with pytest.raises(FormatError, match=message):
        io.read_ply(path)


@pytest.mark.parametrize("order", ORDERS)
def test_ply_elements_without_properties_take_no_room(tmp_path: Path, order: str) -> None:
    content = ply(order).replace(b"element vertex", b"element nothing 999999999999999999\nelement vertex")
    np.testing.assert_array_equal(io.read_ply(written(tmp_path, "a.ply", content)).points, POINTS)


def binary(value: float, form: str, old: float) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(struct.pack("<" + form, old), struct.pack("<" + form, value))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (binary(np.nan, "f", 1.0), "row 1 holds a number that is not finite"),
        (binary(1e300, "d", 1.0), "row 1 holds a number that is not finite in float32"),
        (binary(0.0, "d", 1.0), "the normal of this point 1 has length zero"),
        (binary(-2, "i", 2), r"a face names points \[0, -2, 1\], they go from 0 to 3"),
        (binary(9, "i", 2), r"a face names points \[0, 9, 1\]"),
        (lambda content: content.replace(struct.pack("<Bi", 4, 0), struct.pack("<Bi", 255, 0)), "a list of 255"),
        (lambda content: content.replace(struct.pack("<Bi", 3, 0), struct.pack("<Bi", 255, 0)), "a list of 255"),
    ],
)
def test_broken_binary_ply_files(tmp_path: Path, spoil: Callable[[bytes], bytes], message: str) -> None:
    content = ply("binary_little_endian")
    spoilt = spoil(content)
    assert spoilt != content
    with pytest.raises(FormatError, match=message):
        io.read_ply(written(tmp_path, "a.ply", spoilt))


def test_huge_counts_take_no_memory(tmp_path: Path) -> None:
    huge = "999999999999"
    files = [
        (io.read_off, written(tmp_path, "a.off", f"OFF\n{huge} {huge} 0\n0 0 0\n")),
        (io.read_msms, written(tmp_path, "a.vert", VERT_HEADER.replace("      4", huge) + VERT)),
        *(
            (io.read_ply, written(tmp_path, f"{order}{k}.ply", ply(order).replace(old, old[:-1] + huge.encode())))
            for order in ORDERS
            for k, old in enumerate((b"element vertex 4", b"element face 2"))
        ),
    ]
    tracemalloc.start()
    try:
        for read, path in files:
            with pytest.raises(FormatError):
                read(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_surfaces_of_unknown_formats(tmp_path: Path) -> None:
    for name, message in (("a.gltf", "not .gltf"), ("a", "without a suffix")):
        with pytest.raises(FormatError, match=message):
            io.read_surface(tmp_path / name)


PHI = np.array([-2.0, 0.0, 1.0, 4.0], dtype=np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("full", [True, False])
def test_ply_round_trip(tmp_path: Path, dtype: type, full: bool) -> None:
    given = Surface(POINTS, NORMALS, FACES) if full else Surface(POINTS / np.float32(3))
    given = given.astype(dtype)
    io.write_ply(tmp_path / "a.ply", given, PHI)
    made = io.read_ply(tmp_path / "a.ply", dtype)
    np.testing.assert_array_equal(made.points, given.points)
    if full:
        np.testing.assert_allclose(made.normals, given.normals, rtol=1e-7)
        np.testing.assert_array_equal(made.faces, FACES)
    else:
        assert made.normals is None
        assert made.faces is None


def test_colours_and_potentials_of_a_ply_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    given = Surface(POINTS)
    record = np.dtype([("xyz", "<f4", (3,)), ("rgb", "u1", (3,)), ("potential", "<f8")])

    def colours(limit: float | None) -> list[list[int]]:
        io.write_ply(path, given, PHI, limit)
        header, body = path.read_bytes().split(b"end_header\n")
        assert b"property double potential" in header
        rows = np.frombuffer(body, record)
        np.testing.assert_array_equal(rows["potential"], PHI)
        return rows["rgb"].tolist()

    assert colours(None) == [[255, 128, 128], [255, 255, 255], [191, 191, 255], [0, 0, 255]]
    assert colours(2) == [[255, 0, 0], [255, 255, 255], [128, 128, 255], [0, 0, 255]]
    io.write_ply(path, given, np.zeros(4))  # nothing to scale by
    for limit in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match=r"^limit: "):
            io.write_ply(path, given, PHI, limit)


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
