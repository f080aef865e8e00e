"""STL surfaces, text or binary, read by trimesh: triangles alone, of which each writes out its corners."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import Error
from gpuopt.checked import checked, real_dtype
from gpuopt.io.mesh import mean_normals, surface_of
from gpuopt.io.text import AnyPath, FormatError, finite, opened
from gpuopt.molecule import Surface
from gpuopt.point_arrays import unit_vectors
from gpuopt.signals import let_through

_PART = re.compile(rb"^\s*(facet|vertex)\b", re.IGNORECASE | re.MULTILINE)
_HEADER, _TRIANGLE = 84, 50  # bytes of the binary form
_MOST_SOLIDS = 1000  # trimesh compares each one's name with all before it: 139 s for 20 000 (version 5.2)


@checked
def read_stl(path: AnyPath, dtype: DTypeLike = np.float32) -> Surface:
    """Return the surface in an STL file, its solids together as one; equal corners become one point.

    The format has no points, only triangles with three corners each: corners whose numbers are all equal are merged, in
    the order in which they first appear. A triangle's normal follows from the order of its corners (counter-clockwise
    seen from outside), as the normals that files state for triangles are often zero; that of a point is the mean of its
    triangles', weighted by their angles at it, and not known where these have no area or lie back to back. Needs
    trimesh (the extra ``lab``). ``dtype`` is float32 or float64. Raises FormatError, also where most stated normals
    contradict the order of the corners, since then nothing says which side is the outside; Error without trimesh.

    Examples
    --------
    >>> corners = ["vertex 0 0 0", "vertex 1 0 0", "vertex 0 1 0"]
    >>> facet = ["facet normal 0 0 1", "outer loop", *corners, "endloop", "endfacet"]
    >>> np.savetxt("a.stl", ["solid a", *facet, "endsolid a"], "%s")
    >>> io.read_stl("a.stl")
    <gpuopt.Surface: 3 points, float32, normals, 1 faces>
    """
    dtype = real_dtype(dtype)
    try:
        import trimesh  # noqa: F401
    except ImportError as error:
        what = f"STL files are read by trimesh, which cannot be imported ({error}): pip install 'gpuopt[lab]'"
        raise Error(what) from error
    corners, stated = _triangles(path)
    finite(path, corners.reshape(-1, 3), dtype, _no_line, "corner")
    corners = corners.reshape(-1, 3) + 0.0  # -0 is 0
    _check_sides(path, corners.reshape(-1, 3, 3), stated)
    _, first, inverse = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    points, faces = corners[first[order]], rank[inverse.ravel()].reshape(-1, 3)
    shapes = _scaled(points[faces])
    directions = unit_vectors(_by_order(shapes))
    directions[np.isnan(directions)] = 0  # of a triangle without an area
    normals = mean_normals(len(points), faces.ravel(), np.repeat(directions, 3, axis=0), _angles(shapes).ravel())
    return surface_of(path, np.hstack([points, normals]), dtype, _no_line, faces)


def _triangles(path: AnyPath) -> tuple[np.ndarray, np.ndarray]:
    """Corners (T, 3, 3) and stated normals (T, 3), zero where there is none, of all solids."""
    from trimesh.exchange.stl import load_stl

    with opened(path) as file:
        data = file.read()
    is_text = len(data) != _HEADER + _TRIANGLE * int.from_bytes(data[_HEADER - 4 : _HEADER], "little")
    if is_text and (ends := data.lower().count(b"endsolid")) > _MOST_SOLIDS:
        what = f"'endsolid' stands in it {ends} times, and {_MOST_SOLIDS} solids at most are read; join them"
        raise FormatError(path, None, what)
    if is_text:  # names may be in any encoding, which trimesh would need another package to guess
        data = b"\n".join(data.splitlines()).decode("latin-1").encode("utf-8")
    try:
        made: dict[str, Any] = load_stl(BytesIO(data))
    except Exception as error:  # what a broken file raises in a parser is anybody's guess
        let_through(error)
        raise FormatError(path, None, f"trimesh cannot read it ({_brief(error)}); write the surface again") from error
    solids = [made] if "faces" in made else list(made.get("geometry", {}).values())
    corners = [np.asarray(solid["vertices"], np.float64).reshape(-1, 3, 3) for solid in solids]
    found = sum(map(len, corners))
    if not found:
        raise FormatError(path, None, "it holds no whole solid of triangles; the file may be cut off: write it again")
    if is_text:
        _check_facets(path, data, found)
    stated = [
        np.zeros((len(part), 3)) if (given := solid.get("face_normals")) is None else np.asarray(given, np.float64)
        for part, solid in zip(corners, solids, strict=True)
    ]
    return np.concatenate(corners), np.concatenate(stated)


def _check_facets(path: AnyPath, text: bytes, found: int) -> None:
    """Raises FormatError where trimesh, which takes corners as they come, read other triangles than the text has."""
    corners: list[int] = []  # of each facet
    for part in _PART.finditer(text):
        if part[1].lower() == b"facet":
            corners.append(0)
        elif corners:
            corners[-1] += 1
    if len(corners) != found:  # it passes over a last solid that does not end
        read = f"of which {found} were read from whole solids; the file may be cut off"
        raise FormatError(path, None, f"it begins {len(corners)} facets, {read}")
    if odd := [number for number, of in enumerate(corners, 1) if of != 3]:
        what = f"facet {odd[0]} has {corners[odd[0] - 1]} vertices; write the surface again, in triangles"
        raise FormatError(path, None, what)


def _check_sides(path: AnyPath, triangles: np.ndarray, stated: np.ndarray) -> None:
    """Raises FormatError where most stated normals point to the other side than the order of the corners says."""
    with np.errstate(invalid="ignore", over="ignore"):
        sides = np.sign(np.einsum("ij,ij->i", _by_order(_scaled(triangles)), stated))
    against, along = np.count_nonzero(sides < 0), np.count_nonzero(sides > 0)
    if against > along:
        raise FormatError(
            path,
            None,
            f"{against} of {len(sides)} facet normals point against the order of the corners, so which side is the "
            "outside is unclear; write the surface again, with both outwards",
        )


def _scaled(triangles: np.ndarray) -> np.ndarray:
    """Triangles (T, 3, 3) with the first corner at 0 and coordinates up to 1, so that products of these do not vanish;
    zero where all corners are one."""
    shapes = triangles - triangles[:, :1]
    largest = np.abs(shapes).max(axis=(1, 2), keepdims=True)
    return np.divide(shapes, largest, out=np.zeros_like(shapes), where=largest > 0)


def _by_order(shapes: np.ndarray) -> np.ndarray:
    """The directions (T, 3), of any length, from which the corners of scaled triangles are counter-clockwise."""
    return np.cross(shapes[:, 1], shapes[:, 2])


def _angles(shapes: np.ndarray) -> np.ndarray:
    """The angles (T, 3) at the corners of scaled triangles, in radians, precise for thin ones too; 0 where there is
    no area."""
    to_next, to_last = np.roll(shapes, -1, axis=1) - shapes, np.roll(shapes, 1, axis=1) - shapes
    areas = np.linalg.norm(_by_order(shapes), axis=1)[:, np.newaxis]
    result: np.ndarray = np.arctan2(areas, np.einsum("tij,tij->ti", to_next, to_last)) * (areas > 0)
    return result


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:100]


def _no_line(row: int) -> None:
    """trimesh does not say where a triangle stood."""
