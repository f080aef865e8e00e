"""OFF surfaces: a keyword, counts, points, polygons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked, real_dtype
from gpuopt.io.mesh import Polygons, surface_of
from gpuopt.io.text import AnyPath, FormatError, Numbers, rows_of, shown, whole
from gpuopt.molecule import Surface

# Many files have the first count right behind the keyword: "OFF8 6 12".
_KEYWORD = re.compile(rb"(ST)?C?(?P<normals>N)?OFF(?P<more>(\+[NA])*)(?P<count>[0-9]*)")
_OTHER_SPACES = re.compile(rb"(ST)?C?N?(4|4?n)OFF[0-9]*")  # points of four coordinates, or of any number
_COUNTS = 3  # of points, faces and edges
_OWN_LINES = "each point and each face on a line of its own"

Rows = Iterator[tuple[int, list[bytes]]]


@checked
def read_off(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in an OFF file; polygons become fans of triangles.

    Normals are read from NOFF and OFF+N files, colours (COFF) and texture coordinates (STOFF) are passed over.
    Each point and each face has a line of its own, as nearly all programs write them, though the format allows any line
    ends. ``dtype`` is float32 or float64. Raises FormatError, which names the line, also for what is no text and for
    points of other spaces (4OFF, nOFF).

    Examples
    --------
    >>> np.savetxt("a.off", ["OFF", "3 1 0", "0 0 0", "1 0 0", "0 1 0", "3 0 1 2"], "%s")
    >>> io.read_off("a.off")
    <gpuopt.Surface: 3 points, float32, 1 faces>
    """
    dtype = real_dtype(dtype)
    with closing(rows_of(path)) as rows:
        points, faces = _read(path, rows)
    return surface_of(path, points.table(), dtype, points.line, faces)


def _read(path: AnyPath, rows: Rows) -> tuple[Numbers, np.ndarray | None]:
    """The points, with their normals where the keyword says so, and triangles (T, 3)."""
    line, fields = next(rows, (1, [b""]))
    keyword = _KEYWORD.fullmatch(fields[0])
    if _OTHER_SPACES.fullmatch(fields[0]):
        raise FormatError(path, line, f"{shown(fields[0])} files have no points x y z; convert it to OFF")
    if keyword is None:
        what = f"it begins with {shown(fields[0])}, not with OFF, COFF, NOFF or STOFF"
        raise FormatError(path, line, f"{what}; convert it to one of these")
    if b"BINARY" in fields:
        raise FormatError(path, line, "its keyword is followed by BINARY, and only text is read; convert it to text")
    counts = [keyword["count"], *fields[1:]] if keyword["count"] else fields[1:]
    if not counts:
        line, counts = next(rows, (line, []))
    if len(counts) < 2:
        raise FormatError(path, line, "the counts of points and faces are not both there; write the file again")
    if len(counts) > _COUNTS:
        what = f"{shown(counts[_COUNTS:])} follows the counts on their line"
        raise FormatError(path, line, f"{what}; write the file again, {_OWN_LINES}")
    points_declared, faces_declared = (whole(path, line, field) for field in counts[:2])
    points = Numbers(path, 6 if keyword["normals"] or b"N" in keyword["more"] else 3)
    for line, fields in islice(rows, max(0, points_declared)):
        points.append(line, fields)
    if points_declared < 1:
        raise FormatError(path, None, f"it declares {points_declared} points; a surface has at least one")
    if len(points) < points_declared:
        what = f"it declares {points_declared} points, and {len(points)} lines follow"
        raise FormatError(path, None, f"{what}; write the file again, {_OWN_LINES}")
    return points, _faces(path, rows, faces_declared, len(points))


def _faces(path: AnyPath, rows: Rows, declared: int, points: int) -> np.ndarray | None:
    """Triangles (T, 3) of the polygons that ``rows`` holds; None where there are none."""
    polygons = Polygons(path)
    for line, fields in islice(rows, max(0, declared)):
        length = whole(path, line, fields[0])
        if not 1 <= length < len(fields):
            raise FormatError(
                path, line, f"{shown(fields)} is no face, its count and its points; the file may be cut off"
            )
        polygons.append(line, [whole(path, line, field) for field in fields[1 : length + 1]])
    if declared < 0:
        raise FormatError(path, None, f"it declares {declared} faces; declare 0 or more")
    if len(polygons) < declared:
        what = f"it declares {declared} faces, and {len(polygons)} lines follow the points"
        raise FormatError(path, None, f"{what}; write the file again, {_OWN_LINES}")
    return polygons.triangles(points)
