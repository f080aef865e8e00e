"""PLY files: what is read, broken ones, and what is read back."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuopt import ParameterError, io
from gpuopt.io import FormatError
from gpuopt.molecule import Surface
from surface_files import FACES, NORMALS, PHI, POINTS, VERT, VERT_HEADER, unit, written


def ply(
    order: str, normals: bool = True, faces: bool = True, extra: bool = False, directions: np.ndarray = NORMALS
) -> bytes:
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
    for point, normal in zip(POINTS.tolist(), directions.tolist(), strict=True):
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
        ("format", "comment", "names no format"),
        ("end_header", "the_header", "no meaning"),
        ("float x", "float w", "lack x, y or z"),
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
@pytest.mark.parametrize("name", [b"vertex", b"face"])
def test_an_element_declared_twice_is_refused(tmp_path: Path, order: str, name: bytes) -> None:
    """All but one block of its rows were dropped."""
    header, body = ply(order).split(b"end_header\n")
    block = header[header.index(b"element " + name) :]
    block = block[: block.index(b"element", 1)] if b"element" in block[1:] else block
    path = written(tmp_path, "a.ply", header + block + b"end_header\n" + body + body)
    with pytest.raises(FormatError, match=f"line .*a second element '{name.decode()}'; write the surface again"):
        io.read_ply(path)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("uchar", "300", "line 16: its x is 300, and of uint8 are whole numbers from 0 to 255"),
        ("uchar", "1.5", "line 16: its x is 1.5, and of uint8"),
        ("int16", "-32769", "from -32768 to 32767"),
        ("uint", "inf", "its x is inf"),
        ("int", "nan", "its x is nan"),
    ],
)
def test_texts_hold_what_their_types_do(tmp_path: Path, kind: str, value: str, message: str) -> None:
    content = ply("ascii").replace(b"float x", b"%s x" % kind.encode())
    assert len(io.read_ply(written(tmp_path, "a.ply", content))) == 4
    with pytest.raises(FormatError, match=message):
        io.read_ply(written(tmp_path, "a.ply", content.replace(b"\n1.0 0.0 0.0", b"\n%s 0.0 0.0" % value.encode(), 1)))


@pytest.mark.parametrize("order", ORDERS)
def test_ply_elements_without_properties_take_no_room(tmp_path: Path, order: str) -> None:
    content = ply(order).replace(b"element vertex", b"element nothing 999999999999999999\nelement vertex")
    np.testing.assert_array_equal(io.read_ply(written(tmp_path, "a.ply", content)).points, POINTS)


@pytest.mark.parametrize(("face", "named"), [("2 0 3", r"\[0, 3\]"), ("1 -1", r"\[-1\]"), ("2 7 0", r"\[7, 0\]")])
def test_lines_and_dots_of_points_that_are_none(tmp_path: Path, face: str, named: str) -> None:
    head = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    head += "element face 3\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    assert len(io.read_ply(written(tmp_path, "a.ply", head + "2 0 2\n1 1\n"))) == 3
    with pytest.raises(FormatError, match=f"line 15: a face names points {named}, they go from 0 to 2"):
        io.read_ply(written(tmp_path, "b.ply", head + f"2 0 2\n{face}\n"))


def binary(value: float, form: str, old: float) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(struct.pack("<" + form, old), struct.pack("<" + form, value))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (binary(np.nan, "f", 1.0), "row 1 holds a number that is not finite"),
        (binary(1e300, "d", 1.0), "row 1 holds a number that is not finite in float32"),
        (binary(-2, "i", 2), r"a face names points \[0, -2, 1\], they go from 0 to 3"),
        (binary(9, "i", 2), r"a face names points \[0, 9, 1\]"),
        (lambda content: content.replace(struct.pack("<Bi", 4, 0), struct.pack("<Bi", 255, 0)), "a list of 255 goes"),
        (lambda content: content.replace(struct.pack("<Bi", 3, 0), struct.pack("<Bi", 255, 0)), "a list of 255 goes"),
        (lambda content: content.replace(b"list uchar", b"list char").replace(b"\3\0\0\0\0", b"\xff\0\0\0\0"), "of -1"),
        (lambda content: content[: content.rindex(b"end_header\n") + 11 + 4 * 36], "ends where a list should begin"),
    ],
)
def test_broken_binary_ply_files(tmp_path: Path, spoil: Callable[[bytes], bytes], message: str) -> None:
    content = ply("binary_little_endian")
    spoilt = spoil(content)
    assert spoilt != content
    with pytest.raises(FormatError, match=message):
        io.read_ply(written(tmp_path, "a.ply", spoilt))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normals_of_length_zero_are_not_known(tmp_path: Path, order: str, dtype: type) -> None:
    normals = NORMALS.astype(np.float64)
    normals[2] = 0
    normals[1] *= 1e-60  # short, but a direction
    made = io.read_ply(written(tmp_path, "a.ply", ply(order, directions=normals)), dtype)
    assert made.unknown_normals.tolist() == [2]
    np.testing.assert_allclose(made.normals, unit(np.where([[0], [0], [1], [0]], np.nan, NORMALS)), rtol=1e-6)
    assert repr(made).endswith("normals (1 not known), 3 faces>")
    for write, end in ((io.write_ply, "ply"), (io.write_vtk, "vtk")):
        write(tmp_path / f"b.{end}", made, PHI)
    np.testing.assert_allclose(io.read_ply(tmp_path / "b.ply", dtype).normals, made.normals, rtol=1e-7)
    assert (tmp_path / "b.vtk").read_text().splitlines()[-2] == "0 0 0"
    none = io.read_ply(written(tmp_path, "a.ply", ply(order, directions=0 * normals)), dtype)
    assert none.normals is None
    assert len(none.unknown_normals) == 0


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
    for name, message in (("a.gltf", "its name has .gltf"), ("a", "its name has no suffix")):
        with pytest.raises(FormatError, match=message):
            io.read_surface(tmp_path / name)


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
