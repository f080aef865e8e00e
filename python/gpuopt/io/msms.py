"""MSMS surfaces: a .vert file of points, with their normals or without, and a .face file of triangles beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from gpuopt.checked import checked, real_dtype
from gpuopt.io.mesh import check_faces, surface_of
from gpuopt.io.text import AnyPath, FormatError, Numbers, rows_of, whole
from gpuopt.molecule import Surface
from gpuopt.signals import mode_of

_HEADER_FIELDS = 4  # points or faces, spheres, density, probe radius


@checked
def read_msms(vert: AnyPath, face: AnyPath | None = None, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in an MSMS ``vert`` file, and the triangles of its ``face`` file.

    Lines of a ``vert`` file begin with x y z and the normal; where each is x y z alone, there are no normals.
    Without ``face``, the .face file of the same name is read where there is one. Either file may be named first, where
    a suffix, .vert or .face, says which it is. The header may be missing; where it is there, its count must hold.
    ``dtype`` is float32 or float64. Raises FormatError, which names the line.

    Examples
    --------
    >>> np.savetxt("a.vert", [[0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 1]], "%g")
    >>> np.savetxt("a.face", [[1, 2, 3]], "%d")
    >>> io.read_msms("a.vert")
    <gpuopt.Surface: 3 points, float32, normals, 1 faces>
    """
    dtype = real_dtype(dtype)
    path = Path(vert)
    if face is None:
        path, face = (_beside(path, ".vert"), path) if _rank(path) > 0 else (path, None)
    elif _rank(path) > _rank(face):
        path, face = Path(face), path
    rows = _read(path, (6, 3), "points")
    if face is None:
        face = _beside(path, ".face")
        face = None if mode_of(face) is None else face
    faces = None if face is None else _faces(face, len(rows))
    return surface_of(path, rows.table(), dtype, rows.line, faces)


def _rank(path: AnyPath) -> int:
    """Below 0 for the name of a file of points, above for one of triangles."""
    return {".vert": -1, ".face": 1}.get(Path(path).suffix.lower(), 0)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_suffix(suffix.upper() if path.suffix.isupper() else suffix)


def _faces(path: AnyPath, points: int) -> np.ndarray:
    """Triangles (T, 3), counted from 0."""
    rows = _read(path, (3,), "faces")
    table = rows.table()
    broken = np.flatnonzero((table != np.rint(table)).any(axis=1) | (np.abs(table) > 2**53).any(axis=1))
    if len(broken):
        what = "a point's index is no whole number up to 2^53; write the surface again"
        raise FormatError(path, rows.line(broken[0]), what)
    faces = table.astype(np.int64) - 1
    check_faces(path, faces, points, rows.line, first=1)
    return faces


def _is_header(first: list[bytes], second: list[bytes] | None = None) -> bool:
    """Whether the first row is one, as the number of its fields says, or, of rows of so many, its real density or
    radius."""
    if len(first) != _HEADER_FIELDS or second is None or len(second) != _HEADER_FIELDS:
        return len(first) == _HEADER_FIELDS
    return all(field.isdigit() for field in second) and not all(field.isdigit() for field in first[2:])


def _read(path: AnyPath, widths: tuple[int, ...], what: str) -> Numbers:
    """The first numbers of each row behind the header: ``widths[0]``, or a later width where rows are just so long."""
    with closing(rows_of(path)) as rows:
        return _numbers(path, rows, widths, what)


def _numbers(path: AnyPath, rows: Iterator[tuple[int, list[bytes]]], widths: tuple[int, ...], what: str) -> Numbers:
    first = list(islice(rows, 2))
    declared = None
    if first and _is_header(*(fields for _, fields in first)):
        (line, fields), *first = first
        declared = whole(path, line, fields[0])
    if not first:
        raise FormatError(path, None, f"it holds no {what}; run MSMS again")
    length = len(first[0][1])
    short = length in widths[1:]
    found = Numbers(path, length if short else widths[0])
    for line, fields in chain(first, rows):
        if short and len(fields) != length:
            reason = f"it holds {len(fields)} fields, the first of the {what} {length}"
            raise FormatError(path, line, f"{reason}; write all with normals or all without")
        found.append(line, fields)
    if declared is not None and declared != len(found):
        raise FormatError(path, None, f"its header declares {declared} {what}, it holds {len(found)}; run MSMS again")
    return found
