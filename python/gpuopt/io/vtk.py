"""Legacy VTK: a surface with potentials, as ParaView and PyVista read it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuopt.checked import checked
from gpuopt.files import write
from gpuopt.io.text import AnyPath
from gpuopt.io.writing import formatted, number_of, potentials, stated_normals
from gpuopt.molecule import Surface


@checked
def write_vtk(path: AnyPath, surface: Surface, phi: np.ndarray) -> None:
    """Write ``surface`` as text polydata with ``phi`` (M,), of any real dtype, kcal/(mol e), as point scalars
    ``potential``.

    Points without faces become vertices, so that they show. A normal that is not known is written as 0 0 0. The file
    appears whole or not at all. Raises ArrayError for potentials that do not fit the points or are not finite,
    ParameterError or WriteError where the file cannot be written.

    Examples
    --------
    >>> io.write_vtk("two.vtk", gpuopt.Surface([[0, 0, 0], [1, 0, 0]]), np.array([0.5, -0.5]))
    >>> np.loadtxt("two.vtk", skiprows=5, max_rows=2)
    array([[0., 0., 0.],
           [1., 0., 0.]])
    """
    write(path, _parts(surface, potentials(phi, len(surface)), number_of(phi.dtype)))


def _parts(surface: Surface, phi: np.ndarray, number: str) -> Iterator[bytes]:
    count, kind = len(surface), "float" if surface.dtype == np.float32 else "double"
    triple = " ".join([number_of(surface.dtype)] * 3) + "\n"
    yield (
        "# vtk DataFile Version 3.0\nelectrostatic potential, kcal/(mol e)\nASCII\nDATASET POLYDATA\n"
        f"POINTS {count} {kind}\n"
    ).encode("ascii")
    yield from formatted(surface.points, triple)
    if surface.faces is None:
        yield f"VERTICES {count} {2 * count}\n".encode("ascii")
        yield from formatted(np.arange(count).reshape(-1, 1), "1 %d\n")
    else:
        yield f"POLYGONS {len(surface.faces)} {4 * len(surface.faces)}\n".encode("ascii")
        yield from formatted(surface.faces, "3 %d %d %d\n")
    yield f"POINT_DATA {count}\nSCALARS potential double 1\nLOOKUP_TABLE default\n".encode("ascii")
    yield from formatted(phi.reshape(-1, 1), number + "\n")
    normals = stated_normals(surface)
    if normals is not None:
        yield f"NORMALS normals {kind}\n".encode("ascii")
        yield from formatted(normals, triple)
