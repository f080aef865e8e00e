"""OpenDX: values on a regular grid, as molecular viewers read them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.files import write
from gpuopt.io.text import AnyPath
from gpuopt.io.writing import formatted, number_of, potentials
from gpuopt.molecule import Grid


@checked
def write_dx(path: AnyPath, values: np.ndarray, grid: Grid) -> None:
    """Write ``values`` (M,), or of ``grid.shape``, of any real dtype, kcal/(mol e), with z running fastest; lengths of
    the grid are in A.

    The file appears whole or not at all. Raises ArrayError for values that do not fit the grid or are not finite,
    ParameterError for a grid that is none, ParameterError or WriteError where the file cannot be written.

    Examples
    --------
    >>> grid = gpuopt.molecule.Grid(origin=(0.0, 0.0, 0.0), spacing=1.0, shape=(2, 2, 2))
    >>> io.write_dx("potential.dx", np.arange(8.0), grid)
    >>> np.loadtxt("potential.dx", skiprows=8, max_rows=2)
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    nx, ny, nz = grid.shape
    if not (all(map(math.isfinite, (*grid.origin, grid.spacing))) and grid.spacing > 0 and min(grid.shape) > 0):
        raise ParameterError(f"grid: {grid} is none; give a finite origin, a spacing above 0 and lengths of at least 1")
    flat = potentials(values, nx * ny * nz, "values", (nx, ny, nz))
    write(path, _parts(flat, grid, number_of(values.dtype)))


def _parts(values: np.ndarray, grid: Grid, number: str) -> Iterator[bytes]:
    shape = "{} {} {}".format(*grid.shape)
    h = _exact(grid.spacing)
    yield (
        f"# electrostatic potential, kcal/(mol e)\n"
        f"object 1 class gridpositions counts {shape}\n"
        f"origin {' '.join(map(_exact, grid.origin))}\n"
        f"delta {h} 0 0\ndelta 0 {h} 0\ndelta 0 0 {h}\n"
        f"object 2 class gridconnections counts {shape}\n"
        f"object 3 class array type double rank 0 items {len(values)} data follows\n"
    ).encode("ascii")
    whole_rows = len(values) // 3 * 3
    yield from formatted(values[:whole_rows].reshape(-1, 3), f"{number} {number} {number}\n")
    if whole_rows < len(values):
        yield (" ".join(number % value for value in values[whole_rows:]) + "\n").encode("ascii")
    yield (
        b'attribute "dep" string "positions"\n'
        b'object "regular positions regular connections" class field\n'
        b'component "positions" value 1\ncomponent "connections" value 2\ncomponent "data" value 3\n'
    )


def _exact(length: float) -> str:
    """In nine digits where they are all, else in the seventeen that are read back as they were."""
    short = f"{length:.9g}"
    return short if float(short) == length else f"{length:.17g}"
