"""PLY surfaces, read as text or binary of either byte order. The header describes elements, each with properties of
which some are lists; points are the element ``vertex``, polygons a list of the element ``face``."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked, real_dtype
from gpuopt.io.mesh import surface_of, triangles_of
from gpuopt.io.text import (
    BYTE_ORDER_MARK,
    AnyPath,
    FormatError,
    LineOf,
    Numbers,
    lines_of,
    opened,
    shown,
    whole,
)
from gpuopt.molecule import Surface

_NAMES = b"char uchar short ushort int uint float double int8 uint8 int16 uint16 int32 uint32 float32 float64"
_TYPES = dict(zip(_NAMES.split(), ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8") * 2, strict=True))
_ORDERS = {b"ascii": "", b"binary_little_endian": "<", b"binary_big_endian": ">"}
_CORNERS = (b"vertex_indices", b"vertex_index")
_Points = tuple[np.ndarray, LineOf]
_Polygons = tuple[np.ndarray, np.ndarray, LineOf]  # their lengths, and the corners of all
_CUT_OFF = "the file is cut off, or declares more than it holds; write it again"


@dataclass(frozen=True)
class _Property:
    name: bytes
    type: str
    count_type: str | None = None  # of a list

    @property
    def size(self) -> int:
        return int(self.type[1])


@dataclass(frozen=True)
class _Element:
    name: bytes
    count: int
    properties: list[_Property]

    def index(self, *names: bytes) -> int | None:
        """Where the first property of one of these names stands."""
        return next((k for k, known in enumerate(self.properties) if known.name in names), None)

    @property
    def has_lists(self) -> bool:
        return any(known.count_type for known in self.properties)


@checked
def read_ply(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in a PLY file, with normals where points have nx, ny and nz.

    A normal of length zero becomes one that is not known (see :class:`gpuopt.Surface`). Polygons become fans of
    triangles; other elements and properties are passed over, but points with properties that are lists are refused.
    Each row of a text has a line of its own, as nearly all programs write them, though the format allows any line ends.
    ``dtype`` is float32 or float64. Raises FormatError, which names the line of a text, the row of a binary file.

    Examples
    --------
    >>> io.write_ply("two.ply", gpuopt.Surface([[0, 0, 0], [1, 0, 0]], normals=[[0, 0, 1], [1, 0, 0]]), np.zeros(2))
    >>> io.read_ply("two.ply")
    <gpuopt.Surface: 2 points, float32, normals>
    """
    dtype = real_dtype(dtype)
    with closing(lines_of(path)) as lines:
        points, polygons = _read(path, lines)
    if points is None or not len(points[0]):
        raise FormatError(path, None, "it holds no points; write the surface again")
    table, line_of = points
    faces = None
    if polygons is not None:
        lengths, corners, face_line = polygons
        faces = triangles_of(path, lengths, corners, len(table), face_line)
    return surface_of(path, table, dtype, line_of, faces)


def _read(path: AnyPath, lines: Iterator[tuple[int, bytes]]) -> tuple[_Points | None, _Polygons | None]:
    """Points and polygons, None where there are none."""
    order, elements, start = _header(path, lines)
    body: _Text | _Binary = _Binary(path, order, start) if order else _Text(path, lines)
    points, polygons = None, None
    for element in elements:
        where = element.index(*_CORNERS)
        if element.name == b"vertex":
            points = body.table(element, _columns(path, element))
        elif element.name == b"face" and where is not None:
            if element.properties[where].count_type is None or element.properties[where].type[0] == "f":
                raise FormatError(path, None, "its faces are no lists of whole numbers; write the surface again")
            polygons = body.lists(element, where)
        else:
            body.skip(element)
        if points is not None and polygons is not None:
            break
    return points, polygons


def _header(path: AnyPath, lines: Iterator[tuple[int, bytes]]) -> tuple[str, list[_Element], int]:
    """Byte order ("" for text), elements, and where they begin, counted without a byte order mark."""
    order: str | None = None
    elements: list[_Element] = []
    start, returns = 0, False
    for number, line in lines:
        start += len(line)
        returns |= number == 1 and line.endswith(b"\r")
        words = line.split() or [b"comment"]
        if number == 1 and words != [b"ply"]:
            raise FormatError(path, number, "it does not begin with the line 'ply'; check that it is a PLY file")
        if number == 1 or words[0] in (b"comment", b"obj_info"):
            continue
        if words[0] == b"end_header":
            if order is None:
                raise FormatError(path, number, "its header ends and names no format; write the file again")
            # Where lines end in carriage returns alone, a line feed behind the last is the first byte of the data.
            return order, elements, start - (returns and line.endswith(b"\r\n"))
        if words[0] == b"format" and len(words) == 3 and words[1] in _ORDERS:
            order = _ORDERS[words[1]]
        elif words[0] == b"element" and len(words) == 3 and (count := whole(path, number, words[2])) >= 0:
            if words[1] in (b"vertex", b"face") and any(known.name == words[1] for known in elements):
                raise FormatError(path, number, f"a second element {shown(words[1])}; write the surface again with one")
            elements.append(_Element(words[1], count, []))
        elif words[0] == b"property" and elements and (made := _property(words[1:])) is not None:
            elements[-1].properties.append(made)
        else:
            raise FormatError(path, number, f"{shown(words)} has no meaning in a PLY header; write the file again")
    raise FormatError(path, None, "its header does not end; the file may be cut off: write it again")


def _property(words: list[bytes]) -> _Property | None:
    """The property that its words describe, where they do."""
    if len(words) == 2 and words[0] in _TYPES:
        return _Property(words[1], _TYPES[words[0]])
    if len(words) == 4 and words[0] == b"list" and words[1] in _TYPES and words[2] in _TYPES:
        count_type = _TYPES[words[1]]
        return _Property(words[3], _TYPES[words[2]], count_type) if count_type[0] != "f" else None
    return None


def _columns(path: AnyPath, element: _Element) -> list[int]:
    """Where x y z stand among the properties of a point, and nx ny nz where all three are there."""
    if element.has_lists:
        raise FormatError(path, None, "its points have properties that are lists; write them without")
    places = [element.index(name) for name in (b"x", b"y", b"z", b"nx", b"ny", b"nz")]
    if None in places[:3]:
        raise FormatError(path, None, "its points lack x, y or z; write the surface again")
    return [place for place in (places if None not in places else places[:3]) if place is not None]


class _Text:
    """Elements as lines of fields."""

    def __init__(self, path: AnyPath, lines: Iterator[tuple[int, bytes]]) -> None:
        self._path = path
        self._rows = ((number, fields) for number, line in lines if (fields := line.split()))

    def _of(self, element: _Element) -> Iterator[tuple[int, list[bytes]]]:
        found = 0
        for line, fields in islice(self._rows, element.count if element.properties else 0):
            found += 1
            if len(fields) < len(element.properties):
                raise FormatError(self._path, line, f"{shown(fields)} has too few fields; {_CUT_OFF}")
            yield line, fields
        if element.properties and found < element.count:
            raise FormatError(self._path, None, f"{element.count} rows are declared where {found} are; {_CUT_OFF}")

    def table(self, element: _Element, columns: list[int]) -> _Points:
        rows = Numbers(self._path, len(columns))
        for line, fields in self._of(element):
            rows.append(line, [fields[column] for column in columns])
        table = rows.table()
        for column, values in zip(columns, table.T, strict=True):
            self._check_range(element.properties[column], values, rows.line)
        return table, rows.line

    def _check_range(self, known: _Property, values: np.ndarray, line_of: LineOf) -> None:
        """Raises FormatError for values that a type of whole numbers does not have."""
        if known.type[0] == "f":
            return
        limits = np.iinfo(known.type)
        wrong = np.flatnonzero((values != np.rint(values)) | (values < limits.min) | (values > limits.max))
        if len(wrong):
            row = int(wrong[0])
            kind, range_ = np.dtype(known.type).name, f"{limits.min} to {limits.max}"
            what = f"its {known.name.decode()} is {values[row]:g}, and of {kind} are whole numbers from {range_}"
            raise FormatError(self._path, line_of(row), f"{what}; write the surface again")

    def lists(self, element: _Element, where: int) -> _Polygons:
        lengths, corners, lines = array("q"), array("q"), array("q")
        for line, fields in self._of(element):
            place = 0
            for skipped in element.properties[:where]:
                place += 1 + (self._length(line, fields, place) if skipped.count_type else 0)
            length = self._length(line, fields, place)
            corners.extend([whole(self._path, line, field) for field in fields[place + 1 : place + 1 + length]])
            lengths.append(length)
            lines.append(line)
        return np.array(lengths), np.array(corners), lines.__getitem__

    def skip(self, element: _Element) -> None:
        for _ in self._of(element):
            pass

    def _length(self, line: int, fields: list[bytes], place: int) -> int:
        """The length of the list that begins at ``place``, all of which is there."""
        length = whole(self._path, line, fields[place]) if place < len(fields) else -1
        if not 0 <= length < len(fields) - place:
            raise FormatError(self._path, line, f"{shown(fields)} does not hold the list it begins; {_CUT_OFF}")
        return length


class _Binary:
    """Elements as bytes, rows of one size wherever their lists are of one length."""

    def __init__(self, path: AnyPath, order: str, start: int) -> None:
        self._path, self._order, self._place = path, order, 0
        with opened(path) as file:
            marked = file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK
            file.seek(start + marked * len(BYTE_ORDER_MARK))
            self._data = file.read()

    def table(self, element: _Element, columns: list[int]) -> _Points:
        records = self._records(element, [0] * len(element.properties))
        if records is None:
            raise FormatError(self._path, None, f"{element.count} points are declared; {_CUT_OFF}")
        with np.errstate(invalid="ignore"):  # NaN is looked for later
            return np.stack([records[f"values{k}"].astype(np.float64) for k in columns], axis=1), _no_line

    def lists(self, element: _Element, where: int) -> _Polygons:
        records = self._records(element, self._first_lengths(element))
        if records is None:
            lengths, corners = self._walk(element, where)
        else:
            lengths, corners = records[f"length{where}"], records[f"values{where}"].ravel()
        return lengths.astype(np.int64), corners.astype(np.int64), _no_line

    def skip(self, element: _Element) -> None:
        if self._records(element, self._first_lengths(element)) is None:
            self._walk(element, -1)

    def _records(self, element: _Element, lengths: list[int]) -> np.ndarray | None:
        """The rows as records, and goes past them; None where their lists are not all so long, or rows are missing."""
        size = 0
        fields: list[tuple[str, str, int | tuple[int, ...]]] = []
        for k, (known, length) in enumerate(zip(element.properties, lengths, strict=True)):
            size += length * known.size + int(known.count_type[1]) if known.count_type else known.size
            if known.count_type:
                fields.append((f"length{k}", self._order + known.count_type, ()))
            fields.append((f"values{k}", self._order + known.type, (length,) if known.count_type else ()))
        if element.count * size > len(self._data) - self._place:
            return None
        records = np.empty(0, np.dtype(fields))
        if element.count and size:
            records = np.frombuffer(self._data, np.dtype(fields), element.count, self._place)
        for k, (known, length) in enumerate(zip(element.properties, lengths, strict=True)):
            if known.count_type and (records[f"length{k}"] != length).any():
                return None
        self._place += element.count * size
        return records

    def _first_lengths(self, element: _Element) -> list[int]:
        """The lengths of the first row's lists, 0 for what is no list."""
        lengths, place = [], self._place
        for known in element.properties:
            length = self._length(known, place) if element.count else 0
            place += length * known.size + int(known.count_type[1]) if known.count_type else known.size
            lengths.append(length)
        return lengths

    def _length(self, known: _Property, place: int) -> int:
        """The length that stands at ``place`` before a list, 0 before what is no list."""
        if known.count_type is None:
            return 0
        field = self._data[place : place + int(known.count_type[1])]
        length = int.from_bytes(field, "little" if self._order == "<" else "big", signed=known.count_type[0] == "i")
        if len(field) < int(known.count_type[1]):
            raise FormatError(self._path, None, f"it ends where a list should begin; {_CUT_OFF}")
        if length < 0:
            raise FormatError(self._path, None, f"a list declares a length of {length}; write the file again")
        if place + len(field) + length * known.size > len(self._data):
            raise FormatError(self._path, None, f"a list of {length} goes beyond its end; {_CUT_OFF}")
        return length

    def _walk(self, element: _Element, where: int) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and values of the list at ``where``, row by row."""
        lengths, pieces = array("q"), []
        for _ in range(element.count if element.properties else 0):
            for k, known in enumerate(element.properties):
                length = self._length(known, self._place)
                begin = self._place + (int(known.count_type[1]) if known.count_type else 0)
                self._place = begin + (length if known.count_type else 1) * known.size
                if k == where:
                    lengths.append(length)
                    pieces.append(self._data[begin : self._place])
            if self._place > len(self._data):
                raise FormatError(self._path, None, f"the element {shown(element.name)} does not end; {_CUT_OFF}")
        kind = self._order + element.properties[where].type
        return np.array(lengths), np.frombuffer(b"".join(pieces), kind)


def _no_line(row: int) -> None:
    """Rows of binary files stand on no line."""
