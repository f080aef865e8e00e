"""From the numbers of a surface file to a Surface, whatever the format."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import DTypeLike

from gpuopt._core import ArrayError
from gpuopt.io.text import AnyPath, FormatError, LineOf, finite
from gpuopt.molecule import Surface
from gpuopt.point_arrays import unit_vectors

_CANCELLED = 1e-9  # of the weights: what rounding leaves of directions that add up to nothing


def surface_of(
    path: AnyPath, table: np.ndarray, dtype: DTypeLike, line_of: LineOf, faces: np.ndarray | None
) -> Surface:
    """The Surface of ``table`` (M, 3): points, or (M, 6): points and normals, with triangles ``faces`` (T, 3).

    A normal of length zero becomes one that is not known; where all are, the surface has none. Raises FormatError for
    numbers that are not finite in ``dtype``.
    """
    values = finite(path, table, dtype, line_of)
    given = table[:, 3:]  # in float64: a short normal is none of length zero
    normals = unit_vectors(given).astype(values.dtype) if given.any() else None
    try:
        return Surface(values[:, :3], normals, faces)
    except ArrayError as error:
        raise FormatError(path, None, str(error)) from error


def mean_normals(points: int, at: np.ndarray, directions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean direction (points, 3) at each point, of ``directions`` (n, 3) that belong to the points ``at`` (n,).

    Not of length 1; zero where directions cancel each other but for rounding, and where a point has none.
    """
    sums = np.zeros((points, 3))
    np.add.at(sums, at, directions * weights[:, np.newaxis])
    cancelled = np.abs(sums).max(axis=1) <= _CANCELLED * np.bincount(at, weights, points)
    sums[cancelled] = 0
    return sums


class Polygons:
    """Polygons collected from a text, each a list of point indices, and the line of each."""

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        self._lengths, self._corners, self._lines = array("q"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self._lines)

    def append(self, line: int, corners: Iterable[int]) -> None:
        """Takes a polygon."""
        before = len(self._corners)
        self._corners.extend(corners)
        self._lengths.append(len(self._corners) - before)
        self._lines.append(line)

    def corners(self) -> np.ndarray:
        """The corners of all polygons, one after the other."""
        return np.array(self._corners, dtype=np.int64)

    def line_of_corner(self, corner: int) -> int:
        """The line of the polygon that a corner, counted over all of them, belongs to."""
        return self._lines[int(np.searchsorted(np.cumsum(self._lengths), corner, side="right"))]

    def triangles(self, points: int, first: int = 0) -> np.ndarray | None:
        """The polygons as fans of triangles (T, 3), None where there are none.

        Raises FormatError for one that names none of ``points``, which the file counts from ``first``.
        """
        lengths = np.array(self._lengths, dtype=np.int64)
        return triangles_of(self._path, lengths, self.corners(), points, self._lines.__getitem__, first)


def check_faces(path: AnyPath, faces: np.ndarray, points: int, line_of: LineOf, first: int = 0) -> None:
    """Raises FormatError for triangles (T, 3), counted from 0, that name no point; the file counts from ``first``."""
    wrong = np.flatnonzero(((faces < 0) | (faces >= points)).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise _beyond(path, line_of(row), faces[row], points, first)


def _beyond(path: AnyPath, line: int | None, face: np.ndarray, points: int, first: int) -> FormatError:
    named = (face + first).tolist()
    return FormatError(
        path, line, f"a face names points {named}, they go from {first} to {points - 1 + first}; write it again"
    )


def triangles_of(
    path: AnyPath, lengths: np.ndarray, corners: np.ndarray, points: int, line_of: LineOf, first: int = 0
) -> np.ndarray | None:
    """Polygons as in :func:`fan` as triangles (T, 3), None where there are none; ``line_of`` a polygon. Raises
    FormatError as :func:`check_faces`, also for polygons of one or two corners."""
    faces, polygon = fan(lengths, corners)
    check_faces(path, faces, points, lambda row: line_of(int(polygon[row])), first)
    wrong = np.flatnonzero((corners < 0) | (corners >= points))
    if len(wrong):  # of a polygon that gives no triangle
        ends = np.cumsum(lengths)
        at = int(np.searchsorted(ends, wrong[0], side="right"))
        raise _beyond(path, line_of(at), corners[ends[at] - lengths[at] : ends[at]], points, first)
    return faces if len(faces) else None


def fan(lengths: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Polygons of ``lengths`` (n,) corners, all of them one after the other, as triangles about their first corner.

    Returns the triangles (T, 3) and the polygon (T,) of each; polygons of fewer than three corners give none.
    """
    starts = np.cumsum(lengths) - lengths
    counts = np.maximum(lengths - 2, 0)
    polygon = np.repeat(np.arange(len(lengths)), counts)
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    first = starts[polygon]
    return np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1), polygon
