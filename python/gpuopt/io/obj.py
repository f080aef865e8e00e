"""Wavefront OBJ surfaces: points, normals and polygons, a line each, in any order. Why no library reads them:
docs/decisions/mesh-files.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked, real_dtype
from gpuopt.io.mesh import Polygons, mean_normals, surface_of
from gpuopt.io.text import AnyPath, FormatError, Numbers, finite, rows_of, shown, whole
from gpuopt.molecule import Surface
from gpuopt.point_arrays import unit_vectors

_FACE = (b"f", b"fo")  # the second before version 3.0 of the format
_NONE = -1  # the normal of a corner that names none


@checked
def read_obj(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in an OBJ file: all its points in their order, polygons as fans of triangles.

    The normal of a point is that which its corners name; where they name several, as on edges that show, their mean,
    which is not known where its length is zero. Points without faces take the normals in order, where there is one a
    point. Where a point has none, the surface has none. Texture, colours, materials, groups, lines and dots are passed
    over. The format declares no counts: a file cut off between two lines reads as a smaller one. ``dtype`` is
    float32 or float64. Raises FormatError, which names the line.

    Examples
    --------
    >>> np.savetxt("square.obj", ["v 0 0 0", "v 1 0 0", "v 1 1 0", "v 0 1 0", "f 1 2 3 4"], "%s")
    >>> io.read_obj("square.obj").faces
    array([[0, 1, 2],
           [0, 2, 3]])
    """
    dtype = real_dtype(dtype)
    points, normals, polygons = Numbers(path, 3), Numbers(path, 3), Polygons(path)
    named: list[int] = []
    with closing(rows_of(path)) as rows:
        for line, fields in _statements(path, rows):
            if fields[0] == b"v":
                points.append(line, fields[1:])
            elif fields[0] == b"vn":
                normals.append(line, fields[1:])
            elif fields[0] in _FACE:
                if len(fields) < 4:
                    what = f"{shown(fields)} is no face of three points"
                    raise FormatError(path, line, f"{what}; the file may be cut off")
                corners = [field.split(b"/") for field in fields[1:]]
                polygons.append(line, [_index(path, line, corner[0], len(points)) for corner in corners])
                named += [_index(path, line, c[2], len(normals)) if len(c) > 2 and c[2] else _NONE for c in corners]
    if not len(points):
        raise FormatError(path, None, "it holds no points; check that it is an OBJ file")
    faces = polygons.triangles(len(points), first=1)
    mean = _normals(path, polygons, np.array(named, dtype=np.int64), normals, len(points))
    table = points.table() if mean is None else np.hstack([points.table(), mean])
    return surface_of(path, table, dtype, points.line, faces)


def _statements(path: AnyPath, rows: Iterator[tuple[int, list[bytes]]]) -> Iterator[tuple[int, list[bytes]]]:
    """Fields of each line, of several where a backslash joins them, and the number of the first of these."""
    begun, held = 0, list[bytes]()
    for line, fields in rows:
        begun = begun if held else line
        held += fields  # in place: a file may join a million lines
        if held[-1].endswith(b"\\"):
            held[-1] = held[-1][:-1]
            if not held[-1]:
                del held[-1]
            continue
        yield begun, held
        held = []
    if held:
        raise FormatError(path, begun, "the line ends in a backslash and no other joins it; the file may be cut off")


def _index(path: AnyPath, line: int, field: bytes, known: int) -> int:
    """Which one a corner names, from 0: the file counts from 1, or, below 0, back from the last one so far."""
    number = whole(path, line, field)
    index = number - 1 if number > 0 else known + number
    if number == 0 or index < 0:
        raise FormatError(path, line, f"{shown(field)} names nothing: {known} stand before it, counted from 1")
    return index


def _normals(path: AnyPath, polygons: Polygons, named: np.ndarray, normals: Numbers, points: int) -> np.ndarray | None:
    """The normal (points, 3) of each point, None where one has none."""
    table = finite(path, normals.table(), np.float64, normals.line, lengths=0)
    if not len(named):
        return table if len(table) == points else None
    wrong = np.flatnonzero(named >= len(table))
    if len(wrong):
        line = polygons.line_of_corner(int(wrong[0]))
        raise FormatError(path, line, f"a face names normal {named[wrong[0]] + 1} of {len(table)}; write it again")
    # Each normal counts once a point, however many triangles share it there.
    pairs = np.unique(np.stack([polygons.corners(), named], axis=1)[named != _NONE], axis=0)
    if len(np.unique(pairs[:, 0])) < points:
        return None
    unit = np.nan_to_num(unit_vectors(table))  # one of length zero adds nothing
    return mean_normals(points, pairs[:, 0], unit[pairs[:, 1]], np.ones(len(pairs)))
