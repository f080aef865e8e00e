"""OFF surfaces: a keyword, counts, points, polygons."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked
from gpuopt.io.mesh import Polygons, surface_of
from gpuopt.io.text import AnyPath, FormatError, Numbers, rows_of, shown, whole
from gpuopt.molecule import Surface

_KEYWORD = re.compile(rb"(ST)?C?(?P<normals>N)?OFF(?P<more>(\+[NA])*)")

Rows = Iterator[tuple[int, list[bytes]]]


@checked
def read_off(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in an OFF file; polygons become fans of triangles, colours are passed over.

    Normals are read from NOFF and OFF+N files. Raises FormatError, which names the line.
    """
    rows = rows_of(path)
    line, fields = next(rows, (1, [b""]))
    keyword = _KEYWORD.fullmatch(fields[0])
    if keyword is None or b"BINARY" in fields:
        raise FormatError(path, line, "it does not begin with OFF, COFF or NOFF in text; convert it to one of these")
    line, counts = next(rows, (line, [])) if len(fields) == 1 else (line, fields[1:])
    if len(counts) < 2:
        raise FormatError(path, line, "the counts of points and faces are missing; write the file again")
    points_declared, faces_declared = (whole(path, line, field) for field in counts[:2])
    points = Numbers(path, 6 if keyword["normals"] or b"N" in keyword["more"] else 3)
    for line, fields in islice(rows, max(0, points_declared)):
        points.append(line, fields)
    if not len(points) or len(points) != points_declared:
        raise FormatError(
            path, None, f"it declares {points_declared} points and holds {len(points)}; write the file again"
        )
    faces = _faces(path, rows, faces_declared, len(points))
    return surface_of(path, points.table(), dtype, points.line, faces)


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
    if len(polygons) != declared:
        raise FormatError(path, None, f"it declares {declared} faces and holds {len(polygons)}; write the file again")
    return polygons.triangles(points)
