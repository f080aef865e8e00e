"""PLY surfaces coloured by their potential."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.files import write
from gpuopt.io.text import AnyPath
from gpuopt.io.writing import potentials, stated_normals
from gpuopt.molecule import Surface


@checked
def write_ply(path: AnyPath, surface: Surface, phi: np.ndarray, limit: float | None = None) -> None:
    """Write ``surface`` as binary PLY with ``phi`` (M,), of any real dtype, kcal/(mol e), as the property ``potential``
    and as colours.

    Colours go from red at -``limit`` over white at 0 to blue at ``limit`` and beyond; without a limit the largest
    magnitude is it. A normal that is not known is written as 0 0 0. The file appears whole or not at all, and
    :func:`read_ply` reads it. Raises ArrayError for potentials that do not fit the points or are not finite,
    ParameterError for a limit that is not above 0, and that or WriteError where the file cannot be written.

    Examples
    --------
    >>> triangle = gpuopt.Surface([[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]])
    >>> io.write_ply("triangle.ply", triangle, phi=np.array([-2.0, 0.0, 1.0]), limit=2.0)
    >>> np.array_equal(io.read_ply("triangle.ply").points, triangle.points)
    True
    """
    values = potentials(phi, len(surface))
    if limit is None:
        limit = float(np.abs(values).max()) or 1.0
    if not (isfinite(limit) and limit > 0):
        raise ParameterError(f"limit: {limit} is no potential that colours could end at; give a positive one")
    write(path, _parts(surface, values, limit))


def _colours(phi: np.ndarray, limit: float) -> np.ndarray:
    """Red, green, blue (M, 3), uint8, of potentials (M,) between -``limit`` and ``limit``."""
    with np.errstate(over="ignore"):  # far beyond a small limit is beyond it
        share = np.clip(phi / limit, -1, 1)
    red, blue = 1 - np.maximum(share, 0), 1 + np.minimum(share, 0)
    result: np.ndarray = np.rint(255 * np.stack([red, np.minimum(red, blue), blue], axis=1)).astype(np.uint8)
    return result


def _parts(surface: Surface, phi: np.ndarray, limit: float) -> Iterator[bytes]:
    kind, name = ("<f4", "float") if surface.dtype == np.float32 else ("<f8", "double")
    normals = stated_normals(surface)
    axes = ["x", "y", "z"] if normals is None else ["x", "y", "z", "nx", "ny", "nz"]
    shades = ["red", "green", "blue"]
    faces = np.empty((0, 3), dtype=np.int64) if surface.faces is None else surface.faces

    points = np.empty(
        len(surface),
        np.dtype([*((axis, kind) for axis in axes), *((shade, "u1") for shade in shades), ("potential", "<f8")]),
    )
    coordinates = surface.points if normals is None else np.hstack([surface.points, normals])
    for k, axis in enumerate(axes):
        points[axis] = coordinates[:, k]
    for k, shade in enumerate(shades):
        points[shade] = _colours(phi, limit)[:, k]
    points["potential"] = phi
    triangles = np.empty(len(faces), np.dtype([("count", "u1"), ("corners", "<i4", (3,))]))
    triangles["count"], triangles["corners"] = 3, faces

    yield "\n".join(
        [
            "ply",
            "format binary_little_endian 1.0",
            f"comment electrostatic potential, kcal/(mol e): red -{limit:g}, white 0, blue {limit:g}",
            f"element vertex {len(points)}",
            *(f"property {name} {axis}" for axis in axes),
            *(f"property uchar {shade}" for shade in shades),
            "property double potential",
            f"element face {len(triangles)}",
            "property list uchar int vertex_indices",
            "end_header\n",
        ]
    ).encode("ascii")
    yield points.tobytes()
    yield triangles.tobytes()
